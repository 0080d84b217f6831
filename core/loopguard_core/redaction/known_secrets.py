r"""Secrets that are known by what they look like: tokens with a beginning of their own, keys, what stands on command lines.

Most texts lack a letter that a secret of some shape cannot do without, which is seen at the speed of memory; only
where it is there is a shape looked for, in one walk from letter to letter. What is frequent shares a walk: all
that follows a dash is tried in one, and so is what follows an underscore, a dot or an ``A``. At each letter the walk
asks first for what rules out nearly all places (sixteen characters without a break, say).

The forms are those that the vendors document, and that the public lists of secret scanners name.
"""

from __future__ import annotations

from sys import modules

from loopguard_core.patterns import QUOTE, TEXT, compiled, escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator

    Span = tuple[int, int]

__all__ = ["START", "TAKERS", "TOKENS", "Shape", "all_from", "each", "tokens"]

#: Where a word begins: also behind what JSON spells with a letter or a digit, such as the end of a line.
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4}))"
#: As START, and not in the middle of base64.
_BARE = r"(?:(?<![A-Za-z0-9+/])|(?<=\\[bfnrt]))"
#: A shape is looked for by its words so often; what a hook writes has no more texts.
_BY_WORDS = 4
#: A search by words in a text of more characters compiles its shape: to look for each of its words would take longer.
_LARGE = 50_000


def _behind(prefixes: str) -> str:
    """One look behind for all of *prefixes* that are of the same length: the matcher wants to know how far to go back."""
    found: dict[int, list[str]] = {}
    for prefix in prefixes.split():
        found.setdefault(len(prefix), []).append(prefix.replace(".", r"\."))
    return "|".join(f"(?<={'|'.join(same)})" for same in found.values())


class Shape:
    """What a secret, or the name of one, looks like. Each match has one of the *words* (``?``: a letter or a digit).

    It is compiled when a text first has such a word, or when it has been looked for in some: a hook process,
    which lives for one call, mostly compiles none.
    """

    __slots__ = ("_rest", "_words", "pattern", "search")

    def __init__(self, pattern: str, *words: str) -> None:
        self.pattern, self._words, self._rest = pattern, words, _BY_WORDS
        #: Finds the first in a text.
        self.search: Callable[[str], re.Match[str] | None] = self._search_by_words

    def _search_by_words(self, text: str) -> re.Match[str] | None:
        self._rest -= 1
        if not self._rest:
            self.search = self._compile_and_search
        if len(text) > _LARGE or any(_has(text, word) for word in self._words):
            return self._compile_and_search(text)
        return None

    def _compile_and_search(self, text: str) -> re.Match[str] | None:
        self.search = compiled(self.pattern).search
        return self.search(text)


def _has(text: str, word: str) -> bool:
    any_ones = word.count("?")
    if not any_ones:
        return word in text
    head, _, tail = word.partition("?" * any_ones)
    rests = text.split(head)[1:]
    return any(rest[:any_ones].isalnum() and rest.startswith(tail, any_ones) for rest in rests)


# -- what follows a dash

_DASHED = "xapp- tvly- pplx- pypi- PMAK- NRAK- NRII- NRJS- HRKU- glpat- glptt- glcbt- gloas- glimt- glrtr- nvapi- tskey- dnkey- fio-u- tk-us- GOCSPX- glsoat- glffct- ctx7sk- glagent- xkeysib- FLWSECK- s-s4t2ud- s-s4t2af- xsmtpsib- FLWSECK_TEST- CFPAT- AGE-SECRET-KEY- bedrock-api-key-"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-"


def _next(name: str) -> str:
    """How a flag goes on to its word, in a shell and in a list of words; *name* is free for a group."""
    return rf"""(?:[ ]{QUOTE}?|(?P<{name}>\\*["'])\s?,\s?(?P={name}))"""


#: The word of a flag, to be looked at without going on behind it: as it is, in quotes, or in a list of words.
_WORD = rf"""(?P<flag>)(?:(?P<q1>\\*["'])\s?,\s?(?P=q1)(?=(?P<in_list>(?![$<{{*%-])(?:(?!(?P=q1))(?:[^"\\]|\\.)){{1,2000}}+)(?!(?P=q1)\s?:))
    |[ =]?(?P<q2>{QUOTE})(?=(?P<in_quotes>(?![$<{{*%,\s\\])(?:(?!(?P=q2))(?:[^"\\]|\\.)){{1,2000}}+))
    |(?:[ =]|(?<=-[Pu]))(?=(?P<bare>[^\s'"\\|;&<>(${{*%-][^\s'"\\|;&<>]{{0,2000}})))"""


# Groups with a name are secrets of certain commands only (``known_commands``).
_DASH = rf"""(?x)-(?:
    (?<=[IKTUXYa-eg-iklnopr-uxy]-)(?=[A-Za-z0-9_-]{{16}})(?:
      (?:(?:(?<={START}sk-)|{_behind(_DASHED)}|(?<=xai-|pul-|p8e-|llx-|csk-)(?<={START}....)
          |(?<=xox[a-eprs]-)|(?<=gl[dfr]t-)|(?<=sq0[acis]tp-|sq0csp-)|(?:(?<={START}key-)|(?<={START}fc-))(?=[0-9a-f]{{32}})
          |(?<={START}ico-)(?=[A-Za-z0-9]{{32}})
          |(?:(?<={START}a[ks]-)(?=[A-Za-z0-9]{{22}}(?![\w-]))|(?<={START}pa-)(?=[A-Za-z0-9_-]{{43}}(?![\w-])))(?=[a-z0-9_-]*[A-Z]))
          ((?=[A-Za-z_-]{{0,60}}[0-9])[A-Za-z0-9_-]+(?:%[0-9A-F]{{2}}[A-Za-z0-9_-]*)*)
        |(?:(?<={START}(?:sdk|mob|api)-)|(?<=access-sandbox-|ess-production-|ss-development-))(?={_UUID})([0-9a-f-]{{36}})
        |(?<={START}pat-)(?=[a-z]{{2}}[0-9]-{_UUID})([0-9a-z-]{{40}}))
      |(?<={START}API-)([A-Z0-9]{{26,32}})(?![A-Za-z0-9]))
  # the command lines of curl, sshpass, openssl and keytool: what follows may be a flag as well
  |-(?=proxy-user[ =]['"\\]*[^\s:'"\\/-][^\s:'"\\/]{{0,200}}:([^\s'"\\/]{{1,2000}})|pass(?:[ =]{QUOTE}?|\\*"\s*,\s*\\*")(?!pass:)([^\s'"\\-][^\s'"\\]{{0,2000}}))
  | p(?=(?<=sshpass[ ]-p)[ ]?{QUOTE}?([^\s'"\\]{{1,2000}})|ass(?:in|out)?[ =]pass:([^\s'"\\]{{1,2000}})
    |(?<=[ "']-p)(?!w[ ]){QUOTE}?(?P<glued>[^\s'"\\`][^\s'"\\]{{0,1999}}))
  | u(?=s[0-9](?<=(?<![0-9a-f])([0-9a-f]{{32}})-us[0-9])
    |[ =][^\s'"\\-][^\s"\\]{{0,200}}[ ]-p(?:[ =]|assword[ =])?{QUOTE}?(?!\d{{1,5}}\b)(?P<login>[^\s'"\\-][^\s'"\\]{{1,2000}}))
  | [LSUbdhks](?=(?<=-[dks])(?:rc(?:store|key)|tore|(?<=d)est(?:store|key)|(?<=k)ey)pass{_next("n_1")}([^\s'"\\$-][^\s'"\\]{{0,2000}})
    |(?<=Private-L)ines:[ ]\d+(?:\\+[nr][ ]*)+((?:[A-Za-z0-9+/=]|\\+[nr][ ]*)+)
    # of others, where the flag alone says nothing
    |(?<=b)[ ]?(?:{QUOTE}(?P<jar>[\w.%-]{{1,100}}=[^'"\\]{{1,2000}})|(?P<cookie>[\w.%-]{{1,100}}=[^\s'"\\]{{1,2000}})
      |(?P<crumb_>\\*["'])\s?,\s?(?P=crumb_)(?P<crumb>[\w.%-]{{1,100}}=[^'"\\]{{1,2000}}))
    |(?<=[ "']-h)p{QUOTE}?(?P<rar>[^\s'"\\]{{1,2000}})
    |(?:(?<=S)|S(?<=-kS))(?=[ "'\\])(?P<sudo>)
    |(?<=U){_next("n_2")}[^\s'"\\%]{{1,100}}%(?P<smb>[^\s'"\\]{{1,2000}}))
  | [A-Za-z-](?:(?<=[ "'(`]-.)|(?<=\\[nt]-.))(?:(?<!-)[A-Za-z]{{0,3}}(?<=[AEKNPUXabkptuw])
    |(?<=--)(?:user|auth|body|value|cert|(?:src-|dest-)?creds|oauth2-bearer)){_WORD})"""

#: What knows the commands; a process that lives for one call loads it only where a text has a piece of one's name.
_KNOWN = "loopguard_core.redaction.known_commands"
TAKERS = tuple(
    "sql login curl http mongo redis zip keygen ssl secret sudo mariadb ldap smb snmp xh wget nuget sqsh bcp ipmi mosquitto rar 7z"
    " valkey keydb rpcclient wmic winexe hurl aria2c ffuf siege couchbase elastic lftp ab twine poetry cqlsh cypher winrm nxc netexec"
    " exec rabbit rdesktop ncftp security useradd usermod beeline arango doctl aws skopeo buildah podman plink"
    " pscp psftp steghide conan netlify -u".split()
)

# -- what follows an underscore, a dot, an A

_SHORT = "npm_ gsk_ sbp_ ntn_ e2b_ squ_ sqp_ sqa_ sgp_ pnu_ nfp_ phx_ phs_ ddp_ rnd_ dtn_ cfk_"
_LONG = "crsr_ CCIPAT_ CCIPRJ_ ghp_ gho_ ghu_ ghs_ ghr_ glsa_ jina_ bkua_ rdme_ napi_ cfut_ cfat_ whsec_ dop_v1_ doo_v1_ dor_v1_ sm_aat_ sm_pat_ sm_sat_ sntrys_ sntryu_ lin_api_ api_org_ CLOJARS_ lsv2_pt_ lsv2_sk_ dckr_pat_ dckr_oat_ rubygems_ rzp_live_ wandb_v1_ flb_live_ lin_oauth_ apify_api_ github_pat_ pylf_v1_us_ pylf_v1_eu_ duffel_live_ duffel_test_ shippo_live_ shippo_test_"
_STRIPE = "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ pk_live_ pk_test_"
# These have dashes, dots and more in them.
_MIXED = "tgp_v1_ vcp_ vci_ vca_ vcr_ vck_ tfp_ fo1_ fm2_ figd_ fm1a_ fm1r_ sb_secret_ pscale_pw_ pscale_tkn_ pscale_oauth_"
# The names of variables of the environment whose values are secrets end so.
_ENV = "_KEY _PASS _JWT _CREDS _PAT= _AUTH= _auth="
_UNDERSCORE = rf"""(?x)_(?=[A-Za-z0-9_-]{{16}}|KEY|PASS|JWT|CREDS|PAT=|AUTH=|auth=)(?:
    (?=[a-z_-]{{0,20}}[A-Z0-9])(?:
      (?=[A-Za-z0-9]{{16}})(?:(?:{_behind(_LONG)}|{_behind(_STRIPE)}|(?<=shp.._)
          |(?:{_behind(_SHORT)})(?<={START}....)|(?<={START}r8_)|(?<={START}hf_)
          |(?<={START}glc_|{START}ops_)(?=eyJ)|(?<={START}secret_)(?=[A-Za-z0-9]{{32}})|(?<={START}sk_)(?=[0-9a-f]{{48}})|(?<={START}key_)(?=[0-9a-f]{{64}}(?![A-Za-z0-9]))
          |(?<=pcsk_[A-Za-z0-9]{{5}}_|csk_[A-Za-z0-9]{{6}}_)|(?<={START}re_[A-Za-z0-9]{{8}}_)(?=[A-Za-z0-9]{{24}})
          |(?<=live_|test_)(?=[0-9a-f]{{35}}(?![A-Za-z0-9])))
          ([A-Za-z0-9_]+)
        |([A-Za-z0-9]{{29}})_mmk(?![A-Za-z0-9]))
      |(?:{_behind(_MIXED)})([A-Za-z0-9_=+/.-]*[A-Za-z0-9_=-]))
    |(?:KEY|PASS|JWT|CREDS|PAT(?==)|AUTH(?==)|auth(?==(?=[A-Za-z+/]{{0,80}}[0-9=])[A-Za-z0-9+/]{{12,}}={{0,2}}(?:[\s"'\\]|$)))
      (?=[A-Za-z0-9_]{{0,40}}(?:\s?=|\\*"\s?:\s?\\*")|:\s[^\s"'\\,(]{{4,}}["'\\])(?P<env>))"""

# A bot of Discord is named by its number in base64, in which all digits look alike.
_BOT = "(?:[MNO][DTjz][AEIMQUYcgk][wxyz0-5])"
_DOT = rf"""(?x)\.(?=[A-Za-z0-9_-]{{16}})(?:
    (?<=[GQablrstu19]\.)(?:(?<={START}AQ\.)(?=Ab[A-Za-z0-9_-]{{30}})|(?<=hv[sbr]\.)(?<={START}....)|(?<=SG\.)(?=[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16}})
      |(?<=ya29\.)(?<={START}.....)|(?<=atlasv1\.)|(?<={START}sl\.)(?=[A-Za-z0-9_=-]{{60}})|(?<={START}sl\.u\.)
      |(?<={START}s\.)(?=(?=[A-Za-z]*[0-9])(?=[0-9a-z]*[A-Z])[A-Za-z0-9]{{24}}(?![\w(\[-]|\.\w))
      |(?<={START}dp\.(?:pt|st|ct|sa)\.)|(?<={START}v1\.)(?=0-[0-9a-f]{{24}}-))
    |(?<=[A-Za-z0-9_-]{{6}}\.)(?:(?<=pat[A-Za-z0-9]{{14}}\.)(?=[0-9a-f]{{64}})|(?<=dt0[cs][0-9]{{2}}\.[A-Z0-9]{{24}}\.)
      |(?<=[ps]at\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9]{{24}}\.)
      |(?<=\.[A-Za-z0-9_-]{{6}}\.)(?:(?<={_BOT}{{6}}[MNO]..{{7}}\.)|(?<={_BOT}{{6}}.{{7}}\.)|(?<={_BOT}{{5}}[MNO]...{{7}}\.))
        (?=[A-Za-z0-9_-]{{27}}))
    |(?<=dp\.st\.[a-z]{{3}}\.)(?=[A-Za-z0-9]{{40}}))
    ([A-Za-z0-9_=-]+(?:\.[A-Za-z0-9_-]{{16,}})?)"""
_A = rf"""(?x)A(?:LSE(?<=FALSE)\\+t(?:/[^\s\\"]{{0,200}}\\+t(?:TRUE|FALSE)\\+t)?[0-9]{{1,12}}\\+t[^\s\\"]{{1,200}}\\+t([^\s\\"]{{4,4000}})
    |ZDO(?<=([A-Za-z0-9]{{76}})AZDO)|CDb(?<=([A-Za-z0-9+/]{{76}})ACDb)|St(?<=([A-Za-z0-9+/]{{76}})\+ASt)
    |K(?:ID|LT)(?<={_BARE}AK..)([A-Za-z0-9]{{32,60}})(?![A-Za-z0-9+/=])|[KS]IA(?<={START}A.IA)([A-Z0-9]{{12,}})(?![a-z])|Iza(?<={START}AIza)([A-Za-z0-9_-]{{30,}})
    |T[AC]TT3([A-Za-z0-9_=-]{{30,}})|I(?<={_BARE}LTAI)([A-Za-z0-9]{{12,}})
    |TBB(?<={_BARE}ATBB)([A-Za-z0-9]{{28,36}})(?![A-Za-z0-9+/=])
    |KCp(?<={_BARE}AKCp)([A-Za-z0-9]{{60,}})(?![A-Za-z0-9+/=])|BSK(?<={_BARE}ABSK)([A-Za-z0-9+/]{{80,}}={{0,2}})
    |QVN(?<={_BARE}AQVN)([A-Za-z0-9_-]{{35,38}})(?![A-Za-z0-9+/=_-])
    |3-(?<={START}A3-)([A-Z0-9]{{6}}-(?:[A-Z0-9]{{11}}|[A-Z0-9]{{6}}-[A-Z0-9]{{5}})(?:-[A-Z0-9]{{5}}){{3}})
    |K(?<={_BARE}EZAK)([A-Za-z0-9]{{54}})(?![A-Za-z0-9+/=])
    |(?<=cmVmdGtuOjA)([A-Za-z0-9]{{40,}})
    |UTH=(?<={START}AUTH=){QUOTE}?(?!\w{{2,9}}:/|[A-Z0-9-]+(?![a-z+/_.:=]))((?=[A-Za-z+/_.:-]*[0-9])(?=[0-9+/_.:-]*[A-Za-z])[A-Za-z0-9+/_.:-]{{12,}}={{0,2}})
    |A(?:(?<=[0-9]{{6}}:AA)[A-Za-z0-9_-]{{30,}}|(?<={_BARE}EAA)([A-Za-z0-9]{{80,}}+)(?![+/=])))"""
_SIGNATURE = r"(?:sig|Signature|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%/+=_-]{16,})"

#: By a letter that each has, and which most texts lack. What goes is the last group, or all of it.
TOKENS = {
    "-": Shape(
        _DASH,
        *_DASHED.split(),
        *"sk- xai- pul- p8e- llx- csk- glrt- gldt- glft- xox sq0 key- fc- ico- -Lines -u -p".split(),
        *"pat- sdk- mob- api- API- access- storepass keypass".split(),
        *("ak-" + "?" * 22, "as-" + "?" * 22, "pa-" + "?" * 8),
        # other flags' commands
        *"redis valkey keydb zip ldap smb rpcclient wmic winexe curl 7z mysql mariadb sudo rar sqlcmd bcp osql tsql".split(),
        *"ipmitool mosquitto keygen openssl nuget doctl security http xh ab secret SecureString -creds snmp".split(),
    ),
    "_": Shape(
        _UNDERSCORE,
        *(*_LONG.split(), *_STRIPE.split(), *_SHORT.split(), *_MIXED.split(), "r8_", "hf_"),
        *"shp glc_ ops_ secret_ sk_ csk_ re_????????_ live_ test_ _mmk".split(),
        *("key_" + "?" * 64, *_ENV.split()),
    ),
    ".": Shape(
        _DOT,
        *"hvs. hvb. hvr. AQ. SG. ya29. atlasv1. dp. dt0 pat. sat. sl. v1.0-".split(),
        *("s." + "?" * 24, "pat" + "?" * 14 + "."),
        *(f"{c}{d}" for c in "MNO" for d in "DTjz"),
    ),
    # Amazon, Google, Atlassian, Alibaba, and the bots of Telegram
    "A": Shape(
        _A,
        *"AKIA ASIA AIza TT3 LTAI :AA ATBB AKCp ABSK AQVN A3- EZAK".split(),
        *("cmVmdGtuOjA", "AUTH=", "EAA", "AKID", "AKLT", "FALSE\\", "AZDO", "ACDb", "+ASt"),
    ),
    # JSON web tokens, what SAML answers, and private keys in base64: certificates and public keys begin alike
    "J": Shape(
        r"J(?:QQJ99(?<=([A-Za-z0-9]{52})JQQJ99)"
        rf"|(?<={START}(?<![_-])eyJ)([A-Za-z0-9_-]{{6,}}\.\.?[A-Za-z0-9_-]{{6,}}(?:\.[A-Za-z0-9_-]*){{0,3}})"
        rf"|(?<={_BARE}eyJ)rIjoi([A-Za-z0-9]{{60,}}={{0,3}})"
        r"|lc3BvbnNl(?<=PHNhbWxwOlJlc3BvbnNl)((?:[A-Za-z0-9+/=]|%[0-9A-F]{2}|\\+[nr]){40,})"
        r"|Ti(?<=LS0tLS1CRUdJTi)(?!BDRVJUSUZJQ0FU|BQVUJMSUMg)((?:[A-Za-z0-9+/=]|\\+[nr]){40,}))",
        *("eyJ", "CRUdJTi", "wOlJlc3", "JQQJ99"),
    ),
    "@": Shape(
        r'://(?:([^\s/:@"\\]+)(?=:x-oauth-basic@):x-oauth-basic|[^\s/:@"\\]*:(?!\$\{?\w+\}?@|<\w+>@|\{\w*\}@|%s@)([^\s/"\\?#]+)|((?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}))@',
        "://",
    ),
    # Azure, OpenShift
    "~": Shape(
        r"~(?:(?<=[0-9]Q~)([A-Za-z0-9_~.-]{31,34})(?![\w~-]|\.\w)|(?<=sha256~)([A-Za-z0-9_-]{40,}))",
        *("Q~", "sha256~"),
    ),
    # hashes of passwords, as they stand in shadow and htpasswd files; Braintree
    "$": Shape(
        r"\$(?:(?:apr1|[1-7y]|2[abxy])\$([A-Za-z0-9./$=,-]{16,})|production\$([0-9a-z]{16}\$[0-9a-f]{32}))",
        "$",
    ),
    # host:port:database:user:password, as a .pgpass has it for any database; for one, its name has to be near (``known_names``)
    "*": Shape(
        r"\*(?:(?<=:[0-9]{4}:\*)|(?<=[\s\"'n]\*:\*:\*)):[\w*.@-]{1,64}:([^\s:\"'\\]{3,200})(?![\w:])",
        ":*:",
    ),
    "?": Shape(rf"\?{_SIGNATURE}", "sig=", "Signature="),
    "&": Shape(rf"&{_SIGNATURE}", "sig=", "Signature="),
}

_TOKENS = tuple(TOKENS.items())


def tokens(text: str) -> tuple[list[Span], list[re.Match[str]]]:
    """Where secrets stand in the JSON *text* that are known by what they look like; names of the environment's secrets."""
    spans: list[Span] = []
    names: list[re.Match[str]] = []
    flags: list[re.Match[str]] = []
    for letter, shape in _TOKENS:
        if letter in text and (first := shape.search(text)):
            for m in all_from(first):
                kind = m.lastgroup
                if kind is None:
                    spans += each(text, *m.span(m.lastindex or 0))
                elif kind == "env":
                    names.append(m)
                else:
                    flags.append(m)
    if flags and (_KNOWN in modules or any(part in text for part in TAKERS)):
        for m in flags:
            spans += _of_command(text, m, m.lastgroup or "")
    return spans, names


def _of_command(text: str, match: re.Match[str], kind: str) -> list[Span]:
    """The secret that a flag gives, where its command takes one with it."""
    from loopguard_core.redaction.known_commands import (  # few texts have a flag
        flagged,
        is_of_command,
        piped,
    )

    if kind == "sudo":
        return piped(text, match.start())
    if kind in ("bare", "in_quotes", "in_list"):
        found = flagged(text, match)
        return [] if found is None else [found]
    if kind == "login":  # mysql's -p would ask for it
        return [] if is_of_command(text, match.start(), "glued") else [match.span(kind)]
    return [match.span(kind)] if is_of_command(text, match.start(), kind) else []


def all_from(match: re.Match[str]) -> Iterator[re.Match[str]]:
    """The first *match* in a text, and those that follow. To look for the first one alone costs half."""
    search, text = match.re.search, match.string
    found: re.Match[str] | None = match
    while found is not None:
        yield found
        found = search(text, found.end())


def each(text: str, start: int, end: int) -> Iterator[Span]:
    """The strings that stand there: the values of a list are found as one."""
    quote = None
    if text.find('"', start, end) >= 0:
        quote = compiled(r'\\*"$').search(text, max(0, start - 40), start)
    if quote is not None:
        q = escape(quote.group())
        piece = compiled(TEXT.replace("(?P=q)", q).replace("(?P=b)", q[:-1]) + "*+")
        comma = compiled(rf"{q}\s*,\s*{q}")
        while (here := piece.match(text, start, end)) and (
            found := comma.match(text, here.end(), end)
        ):
            yield start, here.end()
            start = found.end()
    yield start, end
