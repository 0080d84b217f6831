"""Columns of a million rows: as few bytes a row as what stands in them needs.

Both keep a full number for each block of rows and a small distance from it for each row. What is too far from
its block's number is kept apart, at its full size: that is rare, or the column is short.
"""

from __future__ import annotations

from array import array

#: Rows of a block, as a power of two.
_BLOCK = 6
_UNKNOWN = float("nan")
#: No clock tells such a moment; and no distance of two below it is infinite.
_NEVER = 1e300


class Times:
    """Moments in seconds since the epoch, or None, to the microsecond: four bytes each.

    What no clock tells is None too.
    """

    #: Instead of a distance: the moment is unknown, or kept apart.
    _APART = 0xFFFFFFFF

    __slots__ = ("_apart", "_bases", "_offsets")

    def __init__(self) -> None:
        self._bases = array("d")
        self._offsets = array("I")
        self._apart: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def append(self, ts: float | None) -> None:
        """The moment of the next row."""
        row = len(self._offsets)
        if row >> _BLOCK == len(self._bases):
            self._bases.append(_UNKNOWN)
        if ts is None or not -_NEVER < ts < _NEVER:
            self._offsets.append(self._APART)
            return
        if self._bases[-1] != self._bases[-1]:
            self._bases[-1] = ts
        offset = (ts - self._bases[-1]) * 1e6
        if 0 <= offset < self._APART - 1:
            self._offsets.append(round(offset))
        else:
            self._offsets.append(self._APART)
            self._apart[row] = ts

    def __getitem__(self, row: int) -> float | None:
        offset = self._offsets[row]
        if offset == self._APART:
            return self._apart.get(row)
        return self._bases[row >> _BLOCK] + offset / 1e6


class Rising:
    """Whole numbers that never fall: two bytes each."""

    __slots__ = ("_apart", "_bases", "_offsets")

    _APART = 0xFFFF

    def __init__(self) -> None:
        self._bases = array("Q")
        self._offsets = array("H")
        self._apart: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def append(self, number: int) -> None:
        """The number of the next row."""
        row = len(self._offsets)
        if row >> _BLOCK == len(self._bases):
            self._bases.append(number)
        offset = number - self._bases[-1]
        self._offsets.append(min(offset, self._APART))
        if offset >= self._APART:
            self._apart[row] = number

    def __getitem__(self, row: int) -> int:
        offset = self._offsets[row]
        if offset == self._APART:
            return self._apart[row]
        return self._bases[row >> _BLOCK] + offset

    def upto(self, number: int) -> int:
        """How many rows have a number that is *number* or less."""
        low, high = 0, len(self._offsets)
        while low < high:
            middle = (low + high) // 2
            if self[middle] <= number:
                low = middle + 1
            else:
                high = middle
        return low
