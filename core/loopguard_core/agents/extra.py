"""One clear line where a framework that an adapter is for is not installed."""

from __future__ import annotations


class needs:
    """Around an adapter's imports: names what is missing by the *extra*, which is called as its package."""

    def __init__(self, extra: str) -> None:
        self.extra = extra

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, ImportError):
            what = f"{error}; `pip install {self.extra}` brings it"
            raise ImportError(what, name=error.name) from None
