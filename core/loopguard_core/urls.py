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
#: What a name of a secret has in it.
_TELLING = ("pass", "pwd", "secret", "token")
#: How a connection string begins that is no URL.
_KEYWORDS = frozenset(("host", "hostaddr", "dbname", "user", "password", "service"))
#: The place of what ``is_misnamed``: it is shown to nobody.
MISNAMED = "(no path, and no URL that begins with postgresql://)"

_given: dict[str, str] = {}


def is_url(named: str) -> bool:
    """True where *named* is the URL of a database and not a path."""
    return _bare(named)[: len(_SCHEMES[0])].lower().startswith(_SCHEMES)


def is_misnamed(named: str) -> bool:
    """True where *named* is meant for a database, or has the form of a URL, and is none that is known."""
    bare = _bare(named).lower()
    if is_url(bare):
        return False
    scheme, colon, rest = bare.partition(":")
    parted = bool(colon) and all(c.isalnum() or c in "+-." for c in scheme)
    if parted and (rest[:1] == "/" or scheme.startswith(("postgres", "jdbc"))):
        return True
    return any(word.partition("=")[0] in _KEYWORDS and "=" in word for word in bare.split())


def _bare(named: str) -> str:
    """*named* without what a file of settings may have put around it."""
    bare = named.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"":
        return bare[1:-1].strip()
    return bare


def place_of(named: str) -> str:
    """The place of the URL *named*: one spelling, and no password in it."""
    named = _bare(named)
    place, _ = _parted(named)
    full = f"{_SCHEMES[0]}{named.partition('://')[2]}"
    if full != place:
        _given[place] = full
    return place


def tells_password(named: str) -> bool:
    """True where *named* is a URL that shows a password, or another secret, to whoever reads it."""
    return is_url(named) and _parted(_bare(named))[1]


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
    if not at and not _is_host(authority):
        login, hosts = authority, ""  # a login whose host was forgotten
    kept_hosts = ",".join(map(_without_words, hosts.split(",")))
    user = login.partition(":")[0]
    given = [p for p in query.split("&") if p]
    kept = [p for p in given if not _is_secret(p)]
    asked = f"?{'&'.join(kept)}" if ask and kept else ""
    place = f"{_SCHEMES[0]}{user}{at if user else ''}{kept_hosts}{slash}{database}{asked}"
    return place, ":" in login or kept_hosts != hosts or len(kept) < len(given)


def _is_host(authority: str) -> bool:
    """True where no part of *authority*, which has no login, can be one: a host, or with a port."""
    ports = (host.rpartition("]")[2].partition(":")[2] for host in authority.split(","))
    return all(not port or port.isdigit() for port in ports)


def _without_words(host: str) -> str:
    """*host* without what stands in its port's place and is none."""
    name, bracket, rest = host.rpartition("]")
    before, _, port = rest.partition(":")
    return host if not port or port.isdigit() else f"{name}{bracket}{before}"


def _is_secret(parameter: str) -> bool:
    """True where *parameter* gives a secret, or may: by a name that libpq does not know, or decodes, too."""
    name, _, value = parameter.partition("=")
    name = name.strip().lower()
    if name in _SECRET_PARAMETERS or "%" in name or "=" in value:
        return True
    if name == "host" and "@" in value[1:]:
        return True
    return name != "passfile" and any(part in name for part in _TELLING)


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
