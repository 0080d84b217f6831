"""A short film of the console as one animated SVG: no script, nothing loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Frame(NamedTuple):
    """One screen as SVG, and how long it stays, in seconds."""

    svg: str
    seconds: float


def plain(svg: str) -> str:
    """A screen's SVG without fonts from the network, and without what only costs space."""
    svg = re.sub(r',\s*url\("https://[^"]*"\) format\("[^"]*"\)', "", svg)
    svg = re.sub(r"@font-face \{[^}]*\}\s*", "", svg)
    svg = re.sub(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>\s*', "", svg, flags=re.S)
    svg = re.sub(r' clip-path="url\(#[^"]*-line-\d+\)"', "", svg)
    return re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)


def film(frames: Sequence[Frame], *, still: int) -> str:
    """The animated SVG. Whoever asks for less motion sees frame *still*."""
    whole = sum(frame.seconds for frame in frames)
    size = re.search(r'viewBox="([^"]+)"', frames[0].svg)
    assert size is not None
    rules, groups, begin = [], [], 0.0
    for number, frame in enumerate(frames):
        end = begin + frame.seconds
        first = "" if number == 0 else "0% { visibility: hidden }"
        last = "" if number == len(frames) - 1 else f"{end / whole:.4%} {{ visibility: hidden }}"
        rules.append(
            f"@keyframes k{number} {{ {first} {begin / whole:.4%} {{ visibility: visible }} {last} }}"
            f"\n.f{number} {{ animation: k{number} {whole:g}s step-end infinite }}"
        )
        inner = re.sub(r"^.*?<svg[^>]*>|</svg>\s*$", "", plain(frame.svg), flags=re.S)
        groups.append(f'<g class="f f{number}">{inner}</g>')
        begin = end
    calm = (
        "@media (prefers-reduced-motion: reduce) { .f { animation: none } "
        f".f{still} {{ visibility: visible }} }}"
    )
    style = "\n".join([".f { visibility: hidden }", *rules, calm])
    body = "\n".join(groups)
    return (
        f'<svg viewBox="{size.group(1)}" xmlns="http://www.w3.org/2000/svg">\n'
        f"<style>\n{style}\n</style>\n{body}\n</svg>\n"
    )
