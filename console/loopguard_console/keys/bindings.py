"""The table of actions as Textual's bindings."""

from __future__ import annotations

from textual.binding import Binding

from loopguard_console.keys.actions import ACTIONS, shown_key


def bindings(*places: str) -> list[Binding]:
    """The Textual bindings of all actions of the given places, in the table's order."""
    return [
        Binding(
            ",".join(action.keys),
            action.id,
            action.title,
            show=action.footer,
            key_display=shown_key(action.keys[0]),
            tooltip=action.help,
            id=action.id,
        )
        for action in ACTIONS
        if set(places) & set(action.where)
    ]
