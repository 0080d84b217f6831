"""Are the agents connected as they should be?"""

from __future__ import annotations

from loopguard_console.doctor.finding import NOTE, OK, WRONG, Finding
from loopguard_console.errors import Refused
from loopguard_console.install import INSTALLERS, installer
from loopguard_console.install.base import Installer, Place

AREA = "agents"


def hooks(store: str = "") -> list[Finding]:
    """What each agent's configuration says of our hook, for this user and in this folder."""
    found: list[Finding] = []
    for agent in INSTALLERS:
        each = installer(agent)
        for scope in each.scopes:
            found += _check(each, Place.here(scope, store))
    if not found:
        what = f"no agent is connected here ({', '.join(INSTALLERS)} could be)"
        found.append(Finding(AREA, NOTE, what, "loopguard-console install AGENT connects one"))
    return found


def _check(each: Installer, place: Place) -> list[Finding]:
    try:
        return [
            Finding(AREA, OK if one.ok else WRONG, one.what, one.mend) for one in each.check(place)
        ]
    except Refused as error:
        return [
            Finding(AREA, WRONG, f"{each.agent}: {error}", "mend that file, then install again")
        ]
    except OSError as error:
        what = f"{each.agent}: {error.filename or place.folder}: {error.strerror}"
        return [Finding(AREA, WRONG, what, "mend its permissions")]
