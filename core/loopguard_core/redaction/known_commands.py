r"""Secrets that a command line gives to commands that are known to take one, where nothing names them.

What says that a word is a secret is its command: ``-p`` means a folder's parents here and a password there. ``known_secrets``
finds the flags; this module, which few texts need, says of which commands they are.
"""

from __future__ import annotations

from loopguard_core.patterns import QUOTE, compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    Span = tuple[int, int]

__all__ = ["flagged", "is_of_command", "piped", "stored"]

#: Characters before a flag in which its command is looked for.
_REACH = 600
#: What ends a command: also the end of a line, unless a backslash stands before it. JSON doubles backslashes: the end of
#: a line is ``\n``, or ``\\n`` in JSON inside JSON; behind three of them, or six, the command goes on.
_END = r"(?:[|;&]\s|(?<![\\`r])(?:\\{1,2}|\\{4})n|(?<![\\`])\\{1,2}r)"
#: What a name goes on with, and what JSON spells the end of a line and a tab with.
_INSIDE = ("_", "-", ".")
_SPELLED = ("\\n", "\\r", "\\t")
#: So many places are looked at where a command's name stands.
_TRIES = 4

_MYSQL = (
    "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlslap mysqlpump mysqlbinlog mysqlsh mariadb"
    " mariadb-dump mariadb-admin mariadb-import mariadb-check mariadb-show mariadb-backup"
)
_LDAP = (
    "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn ldapexop"
)
_SNMP = "snmpget snmpgetnext snmpset snmpwalk snmpbulkwalk snmpbulkget snmptable snmptrap snmpinform snmpstatus snmpdf"
_CURL = "curl curlie hurl wget wget2 http https httpie xh xhs aria2c ffuf siege couchbase-cli elasticdump"
#: The commands of which each flag is, or several; one with a slash counts where that word stands before the flag, too.
_COMMANDS = {
    "glued": f"{_MYSQL} 7z 7za 7zz 7zr rar unrar",
    "rar": "rar unrar",
    "smb": "smbclient smbget smbmap smbcacls smbcquotas smbspool smbtree rpcclient wmic winexe",
    "jar cookie crumb": "curl curlie",
    "store": "gh glab gcloud fly flyctl wrangler doppler supabase docker podman nerdctl kubectl oc az vault bao dotnet chamber"
    " infisical convox copilot railway netlify vercel op",
    # whose word is the secret
    "a": "redis-cli valkey-cli keydb-cli",
    "A X": _SNMP,
    "K": "openssl",
    "N": "ssh-keygen",
    "P": "zip unzip ssh-keygen sqlcmd bcp osql tsql ipmitool mosquitto_pub mosquitto_sub mosquitto_rr",
    "b -body": "gh/secret",
    "k": "openssl/enc nuget/push",
    "p": "docker/login podman/login buildah/login nerdctl/login helm/login oras/login crane/login oc/login cf/login az/login"
    " mongosh mongo mongodump mongorestore mongoexport mongoimport mongostat mongotop mongofiles cqlsh cypher-shell twine"
    " poetry/publish nuget evil-winrm nxc netexec crackmapexec smbmap rabbitmqadmin rdesktop psexec ncftpput ncftpget"
    " steghide conan"
    " security useradd usermod beeline arangosh",
    "t": "doctl/init",
    "w": f"{_LDAP} security plink pscp psftp",
    "-oauth2-bearer": "curl curlie",
    "-auth": "netlify",
    "-value": "az/secret aws/SecureString",
    # whose word is a login, with the secret behind a colon
    ":u :-user": f"{_CURL} lftp",
    ":a :-auth": "http https httpie xh xhs",
    ":A": "ab",
    ":E :-cert": "curl curlie",
    ":U": "curl curlie",
    ":-creds :-src-creds :-dest-creds": "skopeo buildah podman",
}
#: What a manual has in place of a secret.
_SAID = {
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pw",
    "secret",
    "token",
    "user:password",
    "user:pass",
}
_BY_FLAG = {
    flag: {command: word for command, _, word in (c.partition("/") for c in commands.split())}
    for flags, commands in _COMMANDS.items()
    for flag in flags.split()
}
_LOGIN = r"[^\s:/]{0,200}[:,](?!//)(?P<value>[^\s$][^\s]*)"

# What is piped to sudo, passwd, chpasswd or a flag such as --password-stdin; of a login its password.
_PIPED = rf"""(?x)(?:echo|printf)\s+(?:-\w+\s+){{0,3}}(?:{QUOTE}%s(?:\\+n)*{QUOTE}\s+)?{QUOTE}?(?:[\w.-]{{1,64}}:)?
    (?P<value>[^\s'"\\|$;&:-][^'"\\|;&]{{0,120}}?(?:\\+n[^'"\\|;&]{{1,120}}?){{0,3}})(?:\\+n)*{QUOTE}?\s*\|\s*(?:[\w/.=-]+\s+){{0,6}}[\w/.-]*$"""

# What is kept as a secret: as pairs, behind the name of one, or as a text of the shell's.
_PLAIN = rf"(?:{QUOTE}(?![$@<{{*%])(?P<quoted>[^'\"\\]{{3,}})|(?![$@<{{*%-])(?P<plain>[^\s'\"\\|;&<>]{{3,}}))"
_PAIR = rf"(?:[ ]{QUOTE}?|[ ]--from-literal[= ]{QUOTE}?)[A-Za-z_][\w.-]{{0,80}}={_PLAIN}"
_SET = rf"s?[ ]set[ ]{QUOTE}?[A-Za-z_][\w.:-]{{0,80}}{QUOTE}?[ ]{_PLAIN}"
_GIVEN = rf"<<<[ ]*{_PLAIN}"


def flagged(text: str, match: re.Match[str]) -> Span | None:
    """The secret in the word of a flag: the flag goes from a dash to the group ``flag``, and the word is the last group."""
    flags = text[match.start() + 1 : match.start("flag")]
    name = flags if flags.startswith("-") else flags[-1]
    start, end = match.span(match.lastindex or 0)
    if text[start:end].lower() in _SAID:
        return None
    if name in _BY_FLAG and is_of_command(text, match.start(), name):
        return start, end
    if f":{name}" in _BY_FLAG and is_of_command(text, match.start(), f":{name}"):
        login = compiled(_LOGIN).match(text, start, end)
        return None if login is None else login.span("value")
    return None


def is_of_command(text: str, at: int, flag: str) -> bool:
    """True where the *flag* at the place *at* is one of a command that takes a secret with it."""
    start = max(0, at - _REACH)
    near = text[start:at]
    for command, word in _BY_FLAG[flag].items():
        place = near.rfind(command) if not word or word in near else -1
        tries = _TRIES
        while place >= 0 and tries:
            if _is_name(near, place, place + len(command)):
                if compiled(_END).search(text, start + place, at) is not None:
                    break  # that command is over
                if not word or word in near[place:]:
                    return True
            tries -= 1
            place = near.rfind(command, 0, place)
    return False


def _is_name(near: str, start: int, end: int) -> bool:
    """True where what stands from *start* to *end* is a word of its own: a command, or the end of a path to one."""
    before, after = near[start - 1 : start], near[end : end + 1]
    if (before.isalnum() or before in _INSIDE) and near[start - 2 : start] not in _SPELLED:
        return False
    return not (after.isalnum() or after in _INSIDE) or near.startswith((".exe", ".py"), end)


def piped(text: str, at: int) -> list[Span]:
    """The password that a shell's ``echo`` gives the command in which the place *at* is."""
    given = compiled(rf"[^|;&\"']{{0,120}}?{_GIVEN}").match(text, at)
    if given is not None:
        return [given.span(given.lastgroup or 0)]
    near = max(0, at - _REACH)
    start = max(text.rfind("echo", near, at), text.rfind("printf", near, at))
    found = compiled(_PIPED).match(text, start, at) if start >= 0 else None
    return [] if found is None else [found.span("value")]


def stored(text: str, names: list[re.Match[str]]) -> Iterator[Span]:
    """What commands that keep secrets are given behind ``secret set``, ``secrets create``, ``kv put`` and the like."""
    done = 0
    for name in names:
        at = name.start()
        if at < done or not is_of_command(text, at, "store"):
            continue
        yield from piped(text, at)
        end = compiled(rf'{_END}|(?<!\\)"').search(text, at, at + _REACH)
        last = done = end.start() if end is not None else at + _REACH
        for match in (
            *compiled(_PAIR).finditer(text, at, last),
            compiled(_SET).match(text, name.end(), last),
        ):
            if match is not None:
                yield match.span(match.lastgroup or 0)
