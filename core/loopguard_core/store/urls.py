"""A store that is named by a URL: where that is, without its secrets, and what belongs to it on this machine.

A *place* is what is shown, logged and handed around: the URL without any password. What a person gave in
full is remembered for its place in this process only, so that whoever opens the place gets in.
"""

from __future__ import annotations

import os

from loopguard_core.hashing import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_SCHEMES = ("postgresql://", "postgres://")
_SECRET_PARAMETERS = ("password", "sslpassword")

_given: dict[str, str] = {}


def is_url(named: str) -> bool:
    """True where *named* is the URL of a database and not a path."""
    return named.startswith(_SCHEMES)


def place_of(named: str) -> str:
    """The place of the URL *named*: one spelling, and no password in it."""
    rest = named.partition("://")[2]
    before, ask, query = rest.partition("?")
    authority, slash, database = before.partition("/")
    login, at, hosts = authority.rpartition("@")
    user = login.partition(":")[0]
    kept = [p for p in query.split("&") if p and p.partition("=")[0] not in _SECRET_PARAMETERS]
    asked = f"?{'&'.join(kept)}" if ask and kept else ""
    place = f"{_SCHEMES[0]}{user}{at if user else ''}{hosts}{slash}{database}{asked}"
    full = f"{_SCHEMES[0]}{rest}"
    if full != place:
        _given[place] = full
    return place


def in_full(place: str) -> str:
    """What to connect with: the URL as it was given to this process, secrets included. Never shown.

    A path stays as it is.
    """
    return _given.get(place, place)


def has_secret(place: str) -> bool:
    """True where the URL of *place* was given with a password."""
    return place in _given


def folder_of(place: str, environ: Mapping[str, str] | None = None) -> str:
    """The folder of this machine for what belongs to the store at the URL *place* but not into it."""
    from loopguard_core.config import state_folder  # a store in a file has no need of it

    name = blake2b(place.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return os.path.join(state_folder(environ), "stores", name)
