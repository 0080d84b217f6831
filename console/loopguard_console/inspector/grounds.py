"""What a verdict rests on, in plain words: what the tool is, who said so, and how calls were compared."""

from __future__ import annotations

from collections.abc import Iterable

_TOOL = {
    "read-only": "only reads",
    "mutating": "changes things",
    "bookkeeping": "keeps notes",
    "poller": "is asked again on purpose",
    "search": "searches",
    "message": "sends messages",
    "sleep": "waits",
}
_SAID = {
    "traits from config": "as your settings say",
    "traits from mcp": "as its server says",
    "traits from table": "as this tool is known to be",
    "traits from rule": "as its name says",
    "traits from the policy's own list": "as the policy's list says",
}
_COMPARED = {
    "identity by a match function": "by your own match function",
    "ignored fields normalised": "without the fields that never matter",
    "JSON spelling normalised": "however JSON is spelled",
    "path spelling normalised": "however a path is spelled",
    "white space normalised": "without white space",
    "volatile parts ignored": "without what changes by itself",
    "times ignored": "without times",
    "failure pattern": "failures by their kind",
}


def grounds(traits: Iterable[str]) -> tuple[str, str]:
    """Of a verdict's *traits*: what the tool is, and how calls and answers were compared. What has no plain
    word here stands as it is."""
    tool: list[str] = []
    compared: list[str] = []
    said = ""
    for trait in traits:
        if trait in _COMPARED:
            compared.append(_COMPARED[trait])
        elif trait in _SAID:
            said = f", {_SAID[trait]}"
        else:
            tool.append(_TOOL.get(trait, trait))
    return ", ".join(tool) + (said if tool else ""), ", ".join(compared)
