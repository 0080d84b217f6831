"""Lines over descriptors: however the bytes come in pieces, the lines are the same."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopguard_core.pipes import LineReader, LineWriter

pieces = st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\r", b"\n")), max_size=12)


def read_all(parts: list[bytes]) -> list[bytes]:
    """What a reader gives for *parts*, written one after the other."""
    out, into = os.pipe()

    def write() -> None:
        for part in parts:
            os.write(into, part)
        os.close(into)

    async def read() -> list[bytes]:
        reader = LineReader(out)
        threading.Thread(target=write).start()
        return [line async for line in reader.lines()]

    try:
        return asyncio.run(read())
    finally:
        os.close(out)


@settings(max_examples=60, deadline=None)
@given(pieces)
def test_lines_do_not_hang_on_how_they_arrive(parts: list[bytes]) -> None:
    assert read_all(parts) == b"".join(parts).splitlines(keepends=True)


def test_long_lines_come_whole() -> None:
    line = b"x" * 1_000_000 + b"\n"
    assert read_all([line[i : i + 50_000] for i in range(0, len(line), 50_000)]) == [line]


def test_what_is_written_arrives_in_order_and_a_closed_pipe_is_an_error() -> None:
    out, into = os.pipe()

    async def write() -> None:
        writer = LineWriter(into)
        await asyncio.gather(*(writer.write(b"%d\n" % n) for n in range(50)))
        assert writer.pending == 0
        assert os.read(out, 10_000) == b"".join(b"%d\n" % n for n in range(50))
        os.close(out)
        with pytest.raises(OSError):
            await writer.write(b"nobody")
        writer.close()

    asyncio.run(write())
