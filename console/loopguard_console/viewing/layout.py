"""How large the panes beside the chain are, as a person set them, on a terminal of any size. No Textual in here.

What was set is kept as it is: a smaller terminal only shows less of it.
"""

from __future__ import annotations

from typing import NamedTuple

#: Cells that the chain keeps beside the other panes, and lines above the card where that is below it.
CHAIN = 50
ABOVE = 12
#: Columns below which the card stands below the chain and the sessions lie over it.
NARROW = 104
_LEAST = {"left": 16, "right": 24, "below": 5}
STEP = {"left": 2, "right": 4, "below": 2}


class Layout(NamedTuple):
    """Columns of the sessions and of the card, lines of the card below the chain; 0: as it comes."""

    left: int = 0
    right: int = 0
    below: int = 0

    @classmethod
    def read(cls, kept: object) -> Layout:
        """A layout as it was kept; what cannot be one is as it comes."""
        table = kept if isinstance(kept, dict) else {}
        sizes = {n: v for n, v in table.items() if n in cls._fields and type(v) is int}
        return cls(**{name: max(0, min(size, 1_000)) for name, size in sizes.items()})

    def fitted(self, width: int, height: int, left: int) -> Layout:
        """The sizes on a terminal of *width* and *height*, where the sessions take *left* columns now."""
        narrow = width < NARROW
        most = {
            "left": width // 2 if narrow else width // 3,
            "right": width - (self.left or left) - CHAIN,
            "below": height - ABOVE,
        }
        return Layout(
            **{
                name: max(_LEAST[name], min(size, most[name])) if size else 0
                for name, size in self._asdict().items()
            }
        )
