"""opencode's sessions where they are no export: a file a part, as versions before the database kept them,
and what ``opencode run --format json`` prints.
"""

from __future__ import annotations

from loopguard_core import files
from loopguard_core.events import load
from loopguard_core.importers.base import obj, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from loopguard_core.importers.report import Report


def is_kept(record: object) -> bool:
    """True for what a session's own file holds: no messages, they lie in other folders."""
    session = obj(record)
    return (
        string(session.get("id")).startswith("ses_")
        and isinstance(session.get("time"), dict)
        and "messages" not in session
        and "info" not in session
    )


def is_printed(record: object) -> bool:
    """True for a line that ``run --format json`` prints."""
    line = obj(record)
    return "sessionID" in line and "type" in line and bool({"part", "error"} & line.keys())


def kept(info: dict[str, Any], path: Path, report: Report) -> dict[str, Any]:
    """The session whose file is at *path*, with the messages and parts beside it, as an export has it."""
    own = string(info["id"])
    # storage/session/<project>/<session>.json and, until mid-2025, …/session/info/<session>.json
    root = path.parent.parent if path.parent.name == "info" else path.parent.parent.parent
    messages = []
    for message in _objects(root / "message" / own, report):
        name = string(message.get("id"))
        folders = (root / "part" / name, root / "part" / own / name)
        parts = [part for folder in folders for part in _objects(folder, report)]
        messages.append({"info": message, "parts": parts or message.get("parts")})
    return {"info": info, "messages": messages}


def _objects(folder: Path, report: Report) -> Iterator[dict[str, Any]]:
    """The objects in the files of *folder*, by name, which is the order of their making."""
    try:
        found = sorted(folder.glob("*.json"))
    except OSError:
        return
    for file in found:
        try:
            yield obj(load(files.read(str(file), follow=True)))
        except (OSError, ValueError) as error:
            report.bad(0, f"{file.parent.name}/{file.name}: {error}")
