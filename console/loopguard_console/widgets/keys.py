"""The last line: the keys that do something now, from the table of actions."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.content import Content
from textual.style import Style

from loopguard_console.keys.actions import BY_ID, shown_key
from loopguard_console.widgets.pane import Pane

_LAST = ("back_to_chain", "help", "quit")
_OF_APP = frozenset(("help", "quit", "command_palette"))


class KeyBar(Pane):
    """As many keys as fit, help and quit always among them."""

    _offered: tuple[object, ...] = ()

    def show(self, idle: Callable[[str], str], hidden: frozenset[str] = frozenset()) -> None:
        """Look at the screen's bindings and draw those that do something now.

        *idle* says of an action why it would do nothing, empty where it does something.
        """
        seen: dict[str, tuple[str, str]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            action = BY_ID.get(binding.action)
            if action is None or not binding.show or action.id in seen or action.id in hidden:
                continue
            if idle(action.id):
                continue
            key = binding.key_display or shown_key(binding.key)
            seen[action.id] = (key, action.title)
        width = self.size.width or 80
        offered = (width, *seen.items())
        if offered == self._offered:
            return
        self._offered = offered
        tail = [(name, *seen.pop(name)) for name in _LAST if name in seen]
        room = width - sum(len(key) + len(title) + 3 for _, key, title in tail)
        order = [a for a in BY_ID if a in seen]
        shown: list[tuple[str, str, str]] = []
        for name in order:
            key, title = seen[name]
            need = len(key) + len(title) + 3
            if need > room:
                break
            room -= need
            shown.append((name, key, title))
        parts: list[Content] = []
        for name, key, title in [*shown, *tail]:
            words = Content.assemble((f" {key}", "bold $text-accent"), (f" {title} ", "$dim"))
            # not Textual's "@click": it would draw all of them as links
            parts.append(words.stylize(Style.from_meta({"action": name})))
        self.put(Content("").join(parts))

    async def on_click(self, event: events.Click) -> None:
        """What was clicked, as if its key had been pressed."""
        name = event.style.meta.get("action")
        if name:
            where = "app" if name in _OF_APP else "screen"
            await self.screen.run_action(f"{where}.{name}")
