"""What ``progress`` takes from a call; ``records`` says what stands in a record."""

from __future__ import annotations

from loopguard_core.events import load
from loopguard_core.identity import LONG, Scheme, canonical
from loopguard_core.interrupts import pass_on
from loopguard_core.patterns import DOTALL, IGNORECASE, lazy
from loopguard_core.policies.progress import answers, commands, wrapped
from loopguard_core.policies.progress.answers import SHORT
from loopguard_core.policies.progress.arguments import letters, without
from loopguard_core.policies.progress.kinds import BODIES, Tool
from loopguard_core.policies.progress.memory import Memory, Outline, reading
from loopguard_core.policies.progress.volatile import lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from loopguard_core.identity import Payload, Record
    from loopguard_core.policies.keys import Matchers
    from loopguard_core.policies.progress.arguments import Kinds
    from loopguard_core.policies.progress.kinds import Names
    from loopguard_core.traits import Traits

NAME = "progress-1"

#: Longer raw arguments are not parsed; an answer from here on is long.
_PARSED, _LONG, _SAYS = 262_144, 200, 20
#: An answer of more lines is a listing: a number in it names a thing, not what this call has made.
_MANY_LINES = 4
#: Statements that look like a question and change something.
_CHANGES = lazy(
    r"\s*(?:--[^\n]*\n\s*|/\*.{0,400}?\*/\s*)*(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|merge\s+into|update\s+\S+\s+set|delete\s+from|mutation\b"
    r"|(?:create|alter|drop|truncate)\s+(?:or\s+replace\s+)?(?:temp\w*\s+|unique\s+)?(?:table|index|view|schema|database|type|trigger|function))",
    IGNORECASE | DOTALL,
)
#: What such a statement or a comment before it begins with.
_CHANGING = "irmudcatIRMUDCAT-/"
_LOOKING = str.maketrans("", "", "qrm")
#: Longer arguments name no part of a file. Longer answers are compared with those of other calls to the letter, but
#: for lines at their end.
_KINDS, _PART, _SAID = 1024, 4096, 300


class ProgressScheme(Scheme):
    """The identity scheme of ``progress``."""

    asks = ("s", "f")

    def fits(self, record: object, *, outcome: bool) -> bool:
        from loopguard_core.policies.progress.records import well_formed  # not for records of ours

        if not super().fits(record, outcome=outcome):
            return False
        return isinstance(record, dict) and well_formed(record, outcome=outcome)

    def __init__(self, matchers: Matchers | None = None) -> None:
        self.name = f"{NAME}+{matchers.label}" if matchers else NAME
        self._matchers = matchers
        self._tools: dict[tuple[str, Traits], Tool] = {}
        self._known: dict[tuple[str, str, Traits], Record] = {}
        self._memory = Memory()

    def __deepcopy__(self, memo: dict[int, object]) -> ProgressScheme:
        return self

    def _tool(self, tool: str, traits: Traits) -> Tool:
        found = self._tools.get((tool, traits))
        if found is None:
            if len(self._tools) >= _KINDS:
                self._tools.clear()
            found = self._tools[tool, traits] = Tool(tool, traits)
        return found

    def request(self, tool: str, args: Payload, traits: Traits) -> Record:
        key = (tool, args.digest, traits)
        record = self._known.get(key)
        if record is None:
            if len(self._known) >= _KINDS:
                self._known.clear()
            kind = self._tools.get((tool, traits)) or self._tool(tool, traits)
            try:
                record = self._record(kind, args)
            except BaseException as error:  # noqa: BLE001 - a foreign mapping or string may raise anything
                pass_on(error)
                record = {"s": args.digest, "f": kind.flags, "v": kind.source}
            self._known[key] = record
            self._memory.asked(f"{tool}:{record['s']}")
        return record

    def _record(self, tool: Tool, args: Payload) -> Record:
        value = args.value
        if type(value) is not dict or self._matchers:
            if self._matchers and (own := self._matchers.key(tool.name, args)):
                return {"s": own, "f": tool.flags, "v": tool.source, "d": "m"}
            value = _arguments(value)
            if not isinstance(value, dict):
                return self._listed(tool, args, value)
        names = left = tool.named.get(tuple(value)) or tool.names(value)
        kinds: Kinds = []
        kept = without(value, names.dropped, kinds) if names.dropped else value
        tidied = tool.tidier.tidied(kept, kinds)
        if tidied is args.value:
            digest = args.digest
        else:
            digest = args.digest_like(tidied)
            if "f" in kinds or "j" in kinds:  # some may be gone
                left = tool.names(tidied)
        flags = left.flags
        if names.stated and _changes(value, names.stated):
            flags = flags.translate(_LOOKING) + "m"
        record: Record = {"s": digest, "f": flags, "v": tool.source}
        if kinds:
            record["d"] = letters(kinds)
        if not (names.plain and left.plain):
            self._more(record, tool, args, value, names, tidied, left)
        return record

    def _more(
        self,
        record: Record,
        tool: Tool,
        args: Payload,
        value: dict[Any, Any],
        names: Names,
        tidied: dict[Any, Any],
        left: Names,
    ) -> None:
        """What the values of the arguments say, as they were given and tidied."""
        flags: str = record["f"]
        if tool.poller and not any(map(value.get, names.typed)):
            record["f"] = flags = flags + "p"
        command = commands.command_of(value) if names.commands else ""
        if tool.sleeper or (command and "sleep" in command):
            seconds, only = commands.slept(command, value, tool.sleeper)
            if seconds:
                record["w"] = round(seconds, 3)
            if only:
                record["f"] = flags + "z"
        elif left.asks and "m" not in flags and _asks(tidied, left.asks):
            record["f"] = flags + "q"
        if command:
            self._shell(args, command, record)
        elif "r" in flags:
            if left.paths:
                self._reading(args, tidied, left, record)
        elif "t" in flags:
            target = {k: v for k, v in tidied.items() if k not in BODIES}
            if target and len(target) < len(tidied):
                record["k"] = args.digest_of(canonical(target))

    def _listed(self, tool: Tool, args: Payload, value: Any) -> Record:
        """The record of arguments that are no object."""
        record: Record = {"s": args.digest, "f": tool.flags, "v": tool.source}
        if isinstance(value, list):
            tidied, record["d"] = tool.tidier.tidy({"": value})
            record["s"] = args.digest_of(canonical(tidied.get("", [])))
        return record

    def _shell(self, args: Payload, command: str, record: Record) -> None:
        searches, lines = commands.looks_up(command), commands.file_lines(command)
        if searches:
            record["f"] += "q"
        if (searches or lines is not None) and "r" not in record["f"]:
            record["f"] += "r"
        if lines is not None:
            record["g"] = [args.digest_of(lines[0]), lines[1], lines[2]]

    def _reading(self, args: Payload, tidied: dict[Any, Any], names: Names, record: Record) -> None:
        for name in names.paths:
            spelled = tidied[name]
            if isinstance(spelled, str):
                break
        else:
            return
        record["p"] = "a" if spelled[0] == "/" else "r"
        ranged = names.ranged
        lines = commands.field_lines(tidied) if ranged else (0, None)
        if lines is None:
            return
        target = spelled
        if len(tidied) > len(ranged) + 1:  # what else is said may name a part: a section, a sheet
            if len(args.canonical) > _PART:
                return
            target = canonical({k: v for k, v in tidied.items() if k not in ranged})
        record["g"] = [args.digest_of(target), *lines]

    def outcome(
        self, tool: str, args: Payload, result: Payload, ok: bool, traits: Traits, request: Record
    ) -> Record:
        try:
            if not ok:
                return self._failure(args, result, request)
            signature, memory, digest = f"{tool}:{request['s']}", self._memory, result.digest
            before = memory.seen.get(signature)
            if before:
                for known in before:
                    if known.record["x"] == digest:
                        return known.record
            flags, text = request["f"], result.canonical
            record: Record = {"x": digest}
            said, size = text, len(text)
            if size <= SHORT:
                text, said = self._short(record, args, result, request)
                size = len(text)
            outline = Outline(record, text)
            if len(said) >= (_SAYS if "q" in flags else _LONG):
                record["h"] = 1
            if "g" in request and request["g"][2] is None:
                record["l"] = lines_of(said)
            like = memory.answered(signature, before, outline, size)
            if (size <= _SAID or "\n" in text) and _of_kin(flags, record, request):
                self._kin(record, outline, result, text)
            if like is not None:
                self._normalised(
                    record, outline, like, self._tool(tool, traits), result, text, flags
                )
            return record
        except BaseException as error:  # noqa: BLE001 - a foreign result may raise anything
            pass_on(error)
            return {"x": result.digest} if ok else {"e": result.digest, "c": ""}

    def _short(
        self, record: Record, args: Payload, result: Payload, request: Record
    ) -> tuple[str, str]:
        """What a short answer says: nothing found, an outage, an error. Its text, and that without its own lines."""
        flags, file = request["f"], "g" in request or "p" in request
        whole, reads = result.canonical, "r" in flags
        text = wrapped.inner(result.value, whole)
        words = wrapped.without_own_lines(text)
        if "q" in flags and (answers.is_empty(words) or answers.is_empty(whole)):
            record["z"] = 1
        elif not file and (outage := answers.outage_class(words)):
            record["o"] = outage
        elif answers.reports_error(words, file=file, reads=reads) or (
            words != whole and answers.reports_error(whole, file=file, reads=reads)
        ):
            said = [word for word in _said(args.value) if word in words]
            record.update(_failed(result, words, said))
        return text, words

    def _normalised(
        self,
        record: Record,
        outline: Outline,
        like: Outline,
        tool: Tool,
        result: Payload,
        text: str,
        flags: str,
    ) -> None:
        """The digests by which an answer is compared with that of another call like it."""
        reads = (tool.reads or "r" in flags) and "p" not in flags
        numbered = (
            not (tool.drains or "p" in flags or "q" in flags) and lines_of(text) <= _MANY_LINES
        )
        rest = result.digest_of.middle(text) if outline.long else ""
        steady, timeless = self._read(outline, result, reads, numbered, rest)
        record["n"] = steady
        if timeless != steady:
            record["t"] = timeless
        if like is not outline and like.read is None and not like.long:
            record["b"] = [like.record["x"], *self._read(like, result, reads, numbered, "")]

    def _read(
        self, outline: Outline, result: Payload, reads: bool, numbered: bool, rest: str
    ) -> tuple[str, str]:
        """The digests of an answer without volatile parts, and without times."""
        steady, timeless = reading(outline, reads=reads, numbered=numbered)
        digest = result.digest_of(steady + rest)
        outline.read = (
            digest,
            digest if timeless == steady else result.digest_of(timeless + rest),
        )
        return outline.read

    def _kin(self, record: Record, outline: Outline, result: Payload, text: str) -> None:
        """The digest by which an answer is compared with those of other calls, where that is not the exact one."""
        if len(text) <= _SAID:
            record["u"] = result.digest_of(reading(outline, reads=True, numbered=False)[0])
        elif len(text) <= LONG:
            bare = wrapped.without_own_lines(text)
            if bare is not text:
                record["u"] = result.digest_of(bare)

    def expect(self, signature: str) -> None:
        """The fold knows earlier answers of the call *signature*, whoever took their records."""
        self._memory.expect(signature)

    def _failure(self, args: Payload, result: Payload, request: Record) -> Record:
        digest = result.digest
        text = answers.words_of(result.value) or result.canonical[:4000]
        if "q" in request["f"] and answers.only_exit(text):
            return {"e": result.digest_of(""), "c": answers.NOTHING_FOUND}
        said = [word for word in _said(args.value) if word in text]
        known = None if said else self._memory.failure(digest)
        if known is not None:
            return known
        record = _failed(result, text, said)
        if not said:
            self._memory.failed(digest, record)
        return record


def _of_kin(flags: str, record: Record, request: Record) -> bool:
    """True where the answer is compared with those of other calls, so that it is read in any case."""
    if "g" in request or not ("q" in flags or "k" in request or ("r" in flags and "h" in record)):
        return False
    return not ("z" in record or "e" in record or "o" in record)


def _failed(result: Payload, text: str, said: list[str]) -> Record:
    plain = answers.pattern(text, said)
    return {"e": result.digest_of(plain), "c": answers.failure_class(text)}


def _asks(args: dict[Any, Any], names: tuple[str, ...]) -> bool:
    """True where the arguments make the call a search: those with these *names* ask in words."""
    return any(isinstance(args[name], (str, list)) for name in names)


def _changes(args: dict[Any, Any], names: tuple[str, ...]) -> bool:
    """True where a statement among the arguments, those with these *names*, changes something."""
    for name in names:
        text = args[name]
        if not isinstance(text, str):
            continue
        bare = text.lstrip()
        if bare and bare[0] in _CHANGING and _CHANGES.match(text) is not None:
            return True
    return False


def _said(args: Any) -> tuple[str, ...]:
    if not isinstance(args, dict):
        return ()
    short = [v.strip() for v in list(args.values())[:8] if isinstance(v, str) and 2 < len(v) < 300]
    return tuple(sorted(filter(None, short), key=len, reverse=True))


def _arguments(value: Any) -> Any:
    """The arguments, where they are an object or a list or text that holds one; None stands for none."""
    if isinstance(value, str) and value[:1] in "{[ \n\t" and len(value) < _PARSED:
        try:
            value = load(value) if value else {}
        except ValueError:
            return None
    return {} if value is None or value == [] else value
