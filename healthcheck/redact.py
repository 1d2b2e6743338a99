"""Removes secrets from quoted text: log lines, command lines, addresses, answers of servers.

A report is passed around; the logs that it quotes were not written for that. Names are kept, values go. What is no
secret stays readable: counts of tokens, special tokens (<eos>), references ($HF_TOKEN).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from healthcheck.messages import Message
from healthcheck.records import CheckResult, Finding, JsonValue, Report
from healthcheck.secret_shapes import REMOVED, SHAPES

Redact = Callable[[str], str]

_TELLING_CHARACTERS = 8
"""A value shorter than this is not looked for by itself: it may be part of any word."""
_LONGEST_SECRET = 8000
"""Characters that are read after the place of a cut; a private key of 4096 bits has 3,300."""
_NAMED = (
    "key",
    "secret",
    "passw",
    "pass",
    "credential",
    "token",
    "pwd",
    "pat",
    "authorization",
    "signature",
    "contrase",
)
_PAIR = re.compile(
    r"(?P<last>(?:(?:key|secret|password|credential)s?|token|passwd|pwd|pass(?:phrase|code)?|pat|authorization|signature"
    r"|contrase(?:n|\u00f1)a)\d{0,2})(?![\w.-])(?P<sep>\\?[\"']?\]?[ \t]?(?::?=>?|:)[ \t]?|\\?[\"'],[ \t]?|[ \t]+)",
    re.IGNORECASE,
)
_NAME_BEFORE = re.compile(r"(?<![\w.-])[\w.-]{0,60}\Z")
_VALUE = re.compile(
    r"b?\\?\"(?P<double>[^\"\\\n]+)|b?\\?'(?P<single>[^'\\\n]+)|[\[(](?P<many>[^\])\n]+)|"
    r"(?P<bare>[^\s\"'\\,;&|(){}\[\]`]+)"
)
_SCHEME = re.compile(r"(?i)(?:basic|bearer|token|digest|negotiate)\s+")
_NOTHING = re.compile(r"(?i)(?:removed|value|none|null|nil|true|false|undefined|-?\d+(?:\.\d+)?)?|[<$*%].*")
_LIKELY = re.compile(r"(?=\S*\d)[\w.=~+/-]{8,}")
_WORD = re.compile(r"\w+")
_PROSE = frozenset(
    _WORD.findall(
        "a an and as at by for from has if in is it may must need needs no nor not of on or require required "
        "requires set so that the then to was were when where which with without"
    )
)
"""Words that follow an option that is mentioned, not passed."""
_LINE_BEFORE = re.compile(r"\S: (?:line )?\d+: \Z")
_LINE_BEHIND = re.compile(r" (?:line )?\d+: ")
"""The line number in a shell's message: "deploy.sh: line 3: HF_TOKEN: unbound variable"."""
_WORD_OF_A_MESSAGE = re.compile(r"[A-Z]?[a-z]+[:.,]?|[A-Z_]+:?")
_THREE_WORDS = re.compile(r"([A-Za-z][a-z]*) ([A-Za-z_]+) ([A-Za-z_]+)(?![\w-])")
_OF_MESSAGES = _PROSE | {"export", "first", "missing", "please", "you", "your"}
_ALWAYS = frozenset(
    _WORD.findall(
        "apikey appkey authkey accesskey secretkey servicekey applicationkey accountkey clientkey privatekey "
        "privkey password passwd passphrase authorization contrasena contrase\u00f1a"
    )
)
_OF_KEYS = frozenset(
    _WORD.findall(
        "access account api app application auth client consumer database db encryption iam master priv private "
        "secret service shared signing storage subscription"
    )
)
_OF_PASSES = frozenset(
    _WORD.findall("admin database db ftp key login mail mysql pg proxy redis root smtp ssh sudo user")
)
_OF_TOKENS = frozenset(_WORD.findall("access api auth bearer github hf hub id modelscope refresh security session"))
_OTHER_TOKENS = frozenset(
    _WORD.findall(
        "audio begin bos cls decoder end eos first image last mask max min new next num pad per return sep special "
        "start stop think tree unk video vision"
    )
)
_MAYBE = frozenset({"token", "secret", "credential", "signature", "pat", "pwd", "passcode"})


def beginning(text: str, limit: int) -> str:
    """The first characters of a text without secrets: half a secret, cut off for a message, has no shape."""
    return without_secrets(text[: limit + _LONGEST_SECRET])[:limit]


def without_secrets(text: str) -> str:
    """The text with "removed" in place of each value that has the shape, or the name, of a secret."""
    return _as_message(text, _without_secrets)


def _as_message(text: str, redact: Redact) -> str:
    """The redacted text; a message stays one unless its own words say that a value of it is a secret."""
    whole = redact(text)
    if not isinstance(text, Message) or whole == text:
        return text if whole == text else whole
    message = text.mapped(redact)
    return message if redact(message) == message else whole


def _without_secrets(text: str) -> str:
    lower = text.lower()
    for shape in SHAPES:
        if any(hint in lower for hint in shape.hints):
            text = shape.pattern.sub(shape.instead, text)
    if not any(name in lower for name in _NAMED):
        return text
    kept, taken = [], 0
    for pair in _pairs(text):
        start, end = _secret_after(text, pair) if pair.start >= taken else (0, 0)
        if end:
            kept += [text[taken:start], REMOVED]
            taken = end
    return "".join((*kept, text[taken:]))


@dataclass(frozen=True, slots=True)
class _Pair:
    """A name that may mark the value after it as a secret, with the places of the name and of its separator."""

    name: str
    sep: str
    start: int
    end: int


def _pairs(text: str) -> Iterator[_Pair]:
    for found in _PAIR.finditer(text):
        before = _NAME_BEFORE.search(text, max(0, found.start() - 60), found.start())
        if before:
            start = before.start()
            yield _Pair(text[start : found.end("last")], found["sep"], start, found.end())


def redactor(variables: Mapping[str, str]) -> Redact:
    """A function that also removes the values of those variables whose names say that they are secrets."""
    values = {
        value
        for name, value in variables.items()
        if _says_secret(name) and len(value) >= _TELLING_CHARACTERS and not _is_none(name, value)
        and not value.startswith("/")
    }  # fmt: skip
    longest_first = sorted(values, key=len, reverse=True)
    known = re.compile("|".join(re.escape(value) for value in longest_first) or r"(?!)")
    return lambda text: _as_message(text, lambda part: _without_secrets(known.sub(REMOVED, part)))


def redacted(value: JsonValue, redact: Redact) -> JsonValue:
    """The same value with every text in it redacted, and every value under the name of a secret."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {
            name: REMOVED if isinstance(item, str) and _is_under(name, item) else redacted(item, redact)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [
            REMOVED if isinstance(item, str) and _is_value_of(before, item) else redacted(item, redact)
            for before, item in zip((None, *value), value, strict=False)
        ]
    return value


def redacted_result(result: CheckResult, redact: Redact) -> CheckResult:
    """The result of a check with every text in it redacted."""
    return replace(
        result,
        because=redact(result.because),
        findings=tuple(_finding(finding, redact) for finding in result.findings),
    )


def redacted_report(report: Report, redact: Redact) -> Report:
    """The report with every text in it redacted: findings, request and provenance."""
    return replace(
        report,
        results=tuple(redacted_result(result, redact) for result in report.results),
        asked=redact(report.asked),
        metrics={redact(name): redacted(value, redact) for name, value in report.metrics.items()},
        provenance={name: redacted(value, redact) for name, value in report.provenance.items()},
        stopped=redact(report.stopped),
    )


def _finding(finding: Finding, redact: Redact) -> Finding:
    return replace(
        finding,
        expected=redact(finding.expected),
        seen=redact(finding.seen),
        fix=redact(finding.fix),
        where=redact(finding.where),
        evidence={name: redacted(value, redact) for name, value in finding.evidence.items()},
    )


def _secret_after(text: str, pair: _Pair) -> tuple[int, int]:
    """Where the secret of a name stands, (0, 0) where there is none."""
    start, end = _value_after(text, pair)
    return (start, end) if end and _is_secret(text, pair, start, end) else (0, 0)


def _value_after(text: str, pair: _Pair) -> tuple[int, int]:
    """Where the value of a name stands, (0, 0) where there is none."""
    name, begin = pair.name, pair.end
    if pair.sep.isspace() and not name.startswith("-"):
        return 0, 0
    if name.lower().endswith("authorization") and (scheme := _SCHEME.match(text, begin)):
        begin = scheme.end()
    value = _VALUE.match(text, begin)
    if value is None:
        return 0, 0
    start, end = value.span(value.lastgroup or 0)
    if text.endswith("${", 0, pair.start) and text[start:end].startswith(("-", "=")):
        start += 1  # the value is after the operator: ${HF_TOKEN:-value}
    return start, end


def _is_secret(text: str, pair: _Pair, start: int, end: int) -> bool:
    """Whether the value between these places is the secret of the name before it."""
    name, word = pair.name, text[start:end]
    if name.startswith("-") and not _is_of_an_option(pair.sep, word):
        return False
    if _is_none(name, word) or _is_spoken_of(text, pair, start, end):
        return False
    return _says_secret(name) or (_may_say_secret(name) and _LIKELY.fullmatch(word) is not None)


def _is_of_an_option(separator: str, word: str) -> bool:
    """Whether the word after an option is its value: no other option, and no sentence about it."""
    if separator.isspace() and word.lower() in _PROSE:
        return False
    if separator.strip() == ":" and not _LIKELY.fullmatch(word):
        return False  # no command line has a colon there
    return "=" in separator or not word.startswith("-")


def _is_spoken_of(text: str, pair: _Pair, start: int, end: int) -> bool:
    """Whether a message follows the name of a variable, or the name is a use of it, and no value."""
    word, name = text[start:end], pair.name
    if text.endswith("$", 0, pair.start) and "," in pair.sep:
        return True
    if not name.isupper():
        return False
    if text.endswith("${", 0, pair.start):
        return word.startswith("?")
    if pair.sep != ": " or _LIKELY.fullmatch(word.rstrip(":")):
        return False
    return _begins_a_message(text, pair.start, start, end)


def _begins_a_message(text: str, name_at: int, start: int, end: int) -> bool:
    """Whether the word after the name of a variable begins a shell's message about it, or an expansion."""
    word = text[start:end]
    if word.endswith(":") and _LINE_BEHIND.match(text, end):
        return True
    if text[start - 1] in "'\"" or not _WORD_OF_A_MESSAGE.fullmatch(word):
        return False
    words = _THREE_WORDS.match(text, start)
    of_a_message = words is not None and not _OF_MESSAGES.isdisjoint(each.lower() for each in words.groups())
    return of_a_message or _LINE_BEFORE.search(text, max(0, name_at - 80), name_at) is not None


def _is_under(name: str, item: str) -> bool:
    """Whether a value under this name is a secret; a mere mention of an option is not."""
    return _says_secret(name) and not item.startswith("-") and not _is_none(name, item)


def _is_value_of(before: JsonValue, item: str) -> bool:
    """Whether this is the word after an option such as --api-key."""
    is_option = isinstance(before, str) and before.startswith("-") and "=" not in before
    return is_option and not item.startswith("-") and _says_secret(str(before))


def _is_none(name: str, value: str) -> bool:
    """Whether this value is not a secret under any name, or the folder that PWD names."""
    return bool(_NOTHING.fullmatch(value)) or (name.lower().endswith("pwd") and value.startswith(("/", "~", ".")))


def _says_secret(name: str) -> bool:
    """Whether the value of this name is a secret whatever it looks like: api_key, --token, HF_TOKEN, password."""
    before, last = _words(name)
    if (
        last in _ALWAYS
        or last.endswith("password")
        or (last == "key" and _OF_KEYS & before)
        or (last == "token" and _OF_TOKENS & before)
    ):
        return True
    if name.isupper() and last == "key":
        return bool(before)
    if last in {"dbpass", "keypass"}:
        return True
    if last == "pass":
        return bool(_OF_PASSES & before)
    return _may_say_secret(name) and (name.startswith("-") or name.isupper() or last == "secret")


def _may_say_secret(name: str) -> bool:
    """Whether the value of this name may be a secret: token, signature; not eos_token."""
    before, last = _words(name)
    return (last in _MAYBE or name.lstrip("-") == "pass") and not _OTHER_TOKENS & before


def _words(name: str) -> tuple[frozenset[str], str]:
    """The words of a name but the last, and the last, in the singular: "--hf-token", "secretAccessKey"."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    *before, last = re.split(r"[-_.]+", parted.rstrip("0123456789"))
    return frozenset(before), last if last == "tokens" or last.endswith("ss") else last.removesuffix("s")
