"""A store that is named by a URL: where that is, without its secrets.

A *place* is what is shown, logged and handed around: the URL without any password. What a person gave in
full is remembered for its place in this process only, so that whoever opens the place gets in.
"""

from __future__ import annotations

_SCHEMES = ("postgresql://", "postgres://")
_SECRET_PARAMETERS = frozenset(
    (
        *("password", "sslpassword", "oauth_client_secret"),
        *("scram_client_key", "scram_server_key"),
    )
)

_given: dict[str, str] = {}


def is_url(named: str) -> bool:
    """True where *named* is the URL of a database and not a path."""
    return named[: len(_SCHEMES[0])].lower().startswith(_SCHEMES)


def place_of(named: str) -> str:
    """The place of the URL *named*: one spelling, and no password in it."""
    place, _ = _parted(named)
    full = f"{_SCHEMES[0]}{named.partition('://')[2]}"
    if full != place:
        _given[place] = full
    return place


def tells_password(named: str) -> bool:
    """True where *named* is a URL that shows a password, or another secret, to whoever reads it."""
    return is_url(named) and _parted(named)[1]


def _parted(named: str) -> tuple[str, bool]:
    """The place of the URL *named*, and whether a secret was taken out of it."""
    rest = named.partition("://")[2]
    before, ask, query = rest.partition("?")
    authority, slash, database = before.partition("/")
    login, at, hosts = authority.rpartition("@")
    if not at and "@" in (before if _is_host(authority) else rest) and ":" in authority:
        # a password with a / or ? that should have been encoded: libpq refuses it, and nobody may see it
        login, at, hosts = rest.rpartition("@")
        hosts, ask, query = hosts.partition("?")
        slash = database = ""
    user = login.partition(":")[0]
    given = [p for p in query.split("&") if p]
    kept = [p for p in given if not _is_secret(p.partition("=")[0])]
    asked = f"?{'&'.join(kept)}" if ask and kept else ""
    place = f"{_SCHEMES[0]}{user}{at if user else ''}{hosts}{slash}{database}{asked}"
    return place, ":" in login or len(kept) < len(given)


def _is_host(authority: str) -> bool:
    """True where no part of *authority*, which has no login, can be one: a host, or with a port."""
    ports = (host.rpartition("]")[2].partition(":")[2] for host in authority.split(","))
    return all(not port or port.isdigit() for port in ports)


def _is_secret(parameter: str) -> bool:
    return "%" in parameter or parameter in _SECRET_PARAMETERS  # libpq decodes the name, too


def in_full(place: str) -> str:
    """What to connect with: the URL as it was given to this process, secrets included. Never shown.

    A path stays as it is.
    """
    return _given.get(place, place)


def has_secret(place: str) -> bool:
    """True where the URL of *place* was given with a password."""
    return place in _given


def without_passwords(text: str) -> str:
    """*text*, which may quote what somebody typed, without the passwords of URLs in it."""
    if "postgres" not in text.lower():
        return text
    import re  # only for a message

    return re.sub(r"(?i)(postgres(?:ql)?:/+[^\s:@]*):\S*@", r"\1@", text)
