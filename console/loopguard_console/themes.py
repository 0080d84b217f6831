"""The console's own colour themes, and the colours that stand for equal calls in any theme."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="loopguard-dark",
    primary="#7aa2f7",
    secondary="#9d8cff",
    accent="#4fd6be",
    success="#7bc275",
    warning="#e8b04b",
    error="#f0616d",
    foreground="#d5d9e4",
    background="#12141a",
    surface="#171a21",
    panel="#222632",
    dark=True,
    variables={
        "block-cursor-background": "#2b3550",
        "footer-key-foreground": "#7aa2f7",
        "scrollbar": "#2b3040",
        "scrollbar-background": "#171a21",
    },
)

LIGHT = Theme(
    name="loopguard-light",
    primary="#2f5fd0",
    secondary="#6a4fd1",
    accent="#00796b",
    success="#2e7d32",
    warning="#9a6200",
    error="#c2273b",
    foreground="#22252c",
    background="#fbfbfa",
    surface="#f4f4f2",
    panel="#e6e7ea",
    dark=False,
    variables={"scrollbar": "#c9ccd3", "scrollbar-background": "#f4f4f2"},
)

CONTRAST = Theme(
    name="loopguard-contrast",
    primary="#00e5ff",
    secondary="#ff9cff",
    accent="#00ff9c",
    success="#00ff00",
    warning="#ffff00",
    error="#ff5f5f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#303030",
    dark=True,
    variables={"dim": "#d0d0d0", "faint": "#909090", "row": "#00478f", "row-blur": "#303030"},
)

THEMES = (DARK, LIGHT, CONTRAST)

#: Colours of the letters that stand for calls which came again: dark and light backgrounds.
LETTERS_DARK = (
    "#6cb6ff",
    "#f5a97f",
    "#8bd5a0",
    "#d7a6ff",
    "#f2d478",
    "#7fdbe0",
    "#f5a3c7",
    "#b9c46a",
)
LETTERS_LIGHT = (
    "#0b5cad",
    "#a8480b",
    "#1d7a3a",
    "#7a2fb5",
    "#7a5b00",
    "#006d77",
    "#a8265f",
    "#56641a",
)


_DARK = {
    "halt-back": "#8f1d2c",
    "halt-text": "#ffffff",
    "dim": "#8b93a7",
    "faint": "#4a5064",
    "row": "#28365a",
    "row-blur": "#1f273b",
}
_LIGHT = {
    "halt-back": "#7a0f1f",
    "halt-text": "#ffffff",
    "dim": "#6a7080",
    "faint": "#b4b8c2",
    "row": "#cfdcf8",
    "row-blur": "#e3e9f6",
}


def own_variables(dark: bool) -> dict[str, str]:
    """The CSS variables of our own: ``$letter-0`` … ``$letter-7``, and the rest below."""
    letters = LETTERS_DARK if dark else LETTERS_LIGHT
    named = {f"letter-{number}": colour for number, colour in enumerate(letters)}
    return {**named, **(_DARK if dark else _LIGHT)}
