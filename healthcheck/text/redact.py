"""Removes secrets from quoted text: log lines, command lines, addresses, answers of servers.

Reports are passed on, but the logs that they quote were not written for that. Names stay, values go. Harmless
values stay readable: token counts, special tokens (<eos>), references ($HF_TOKEN).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from healthcheck.text.messages import Message, mapped, msg
from healthcheck.text.secret_shapes import REMOVED, TOKEN, without_shapes

HIDDEN = "…"
"""Stands for a secret in the words of a repair, where "removed" reads like the text of a file."""
Value = TypeVar("Value")
Redact = Callable[[str], str]

_TELLING_CHARACTERS = 8
"""A shorter value is not searched for by itself: it may be part of any word."""
_LONGEST_LINE = 1000
_MOST_IN_A_LINE = 4
_LONGEST_SECRET = 8000
"""Characters that are read beyond a cut; a private key of 4096 bits has 3,300."""
_PART = re.compile(
    r"key|secret|pass|pwd|pat|auth|token|cookie|credential|signature|contrase", re.IGNORECASE
)
"""A part of each secret's name: most texts have none of these."""
_END_OF_NAME = (
    r"(?:(?<=[\w.-])keys?|secrets?|pass(?:words?|wd|phrase|code)?|pwd|(?:(?<![a-z])|(?-i:(?=[AP])))(?:auth|pat)"
    r"|authorization|token|cookie|credentials?|signature|contrase[n\u00f1]a)(?:[_-]?\d{1,2})?"
)
_NAME = re.compile(rf"[\w.-]*{_END_OF_NAME}", re.IGNORECASE)
_HARMLESS = re.compile(
    r"(?i)(?:\w*\.)*(?:(?:(?:bos|cls|eos|mask|pad|sep|unk|audio|image|video|special|begin|end|first|last|new|next|start"
    r"|stop)_|\w*per_)token|(?:missing|mismatched|unexpected)_keys?|tiktoken|no[-_](?:api[-_]key|auth))"
)
"""Names of special tokens, counts, weights, a package and checks that end like names of secrets."""
_WORD = re.compile(r"[Aa]uth|[Cc]redentials?|[Pp]ass|PASS|[Pp]at|[Ss]ignature|[Tt]oken")
"""A name that may be a word of a sentence, or a server's word for a part of a text: "unexpected token: newline"."""
_PAIR = re.compile(
    rf"(?<![\w.-])(?P<name>[\w.-]{{0,100}}{_END_OF_NAME})(?P<sep>[\"']?,?\s{{1,20}}[\"']?value[\"']?\s?[:=]\s?"
    r"|\\?[\"']?\]?[ \t]{0,9}(?::?==?>?|:-?)[ \t]{0,9}|\\?[\"'],[ \t]?(?=b?\\?[\"'])|[ \t]+)"
    r"(?:(?:basic|bearer|token|digest|negotiate)[ \t]+)?(?:b?\\?(?P<quote>[\"'])|(?P<list>[\[(]))?",
    re.IGNORECASE,
)
_QUOTED = {quote: re.compile(rf"(?:[^{quote}\\\n]|\\[^{quote}\n])+") for quote in ('"', "'")}
_LISTED = re.compile(r"[^\])\n]+")
_BARE = re.compile(
    r"(?![)}\]](?:[\s\"'/,;:.)}\]]|\Z))(?:[^\s\"'\\&|]|\\(?![\s\"'nrt]))*[^\s\"'\\&|,;(){}\[\]`]"
)
_TELLING_BEGINNING = 80
"""Characters of a value that decide whether it is a secret, so that a long value after many names stays cheap."""
_NOTHING = re.compile(
    r"(?i)(?:removed|value|none|null|nil|true|false|undefined|-?\d{1,2}(?:\.\d+)?|\*+|…|%\w*%)?|[<$].*"
)
"""Values that are never secrets, whatever the name: nothing, a small number, a reference, a placeholder."""
_LIKELY = re.compile(r"(?=\S*\d)[\w.=~+/-]{8,}")
_PREPOSITIONS = frozenset({"and", "from", "in", "is", "of", "or", "to", "with"})
"""Follow an option that a sentence mentions but does not pass."""
_SHELL_SAYS = re.compile(
    r"unbound variable|readonly variable|parameter (?:not set|null)|is not set|[\w./-]{0,80}\.sh: (?:line )?\d+: "
)
"""Follows the name of a variable: "HF_TOKEN: unbound variable"."""
_SHELL_TELLS = re.compile(r"sh: (?:line )?\d+: \Z")
"""Precedes the name of a variable whose own message follows: "deploy.sh: line 2: HF_TOKEN: set it first"."""
_SENTENCE = re.compile(r"[A-Za-z]+ [A-Za-z]")


def beginning(text: str, limit: int) -> str:
    """The first characters of a text without secrets; redacts before cutting, since half a secret has no shape."""
    return without_secrets(text[: limit + _LONGEST_SECRET])[:limit]


def without_secrets(text: str) -> str:
    """The text with "removed" in place of each value that has the shape, or the name, of a secret."""
    return _keeping_messages(text, _without_secrets)


def with_hidden_values(text: str, redact: Redact) -> str:
    """The redacted words of a repair, with a remark if a value is hidden."""
    shown = redact(text)
    if shown == text:
        return text
    return msg("{repair} (… is a hidden value)", repair=_marked(shown, text))


def with_hidden_values_of_lines(text: str, redact: Redact) -> str:
    """The redacted lines of files."""
    shown = redact(text).split("\n")
    lines = text.split("\n")
    if len(lines) != len(shown):
        return "\n".join(shown)
    return "\n".join(_marked(line, own) for line, own in zip(shown, lines, strict=True))


def _marked(shown: str, text: str) -> str:
    """The redacted text with another mark, unless the text itself contains the word of the first."""
    return shown if REMOVED in text else mapped(shown, lambda part: part.replace(REMOVED, HIDDEN))


def _keeping_messages(text: str, redact: Redact) -> str:
    """The redacted text; a message keeps its template if redacting only its values hides as much."""
    if not isinstance(text, Message):
        return redact(text)
    now = text.mapped(str)  # a message that was made at import names another service's script
    plain, shown = redact(now), now.mapped(redact)
    return shown if shown == plain else plain


@lru_cache(maxsize=2048)  # a report and its page quote most texts several times
def _without_secrets(text: str) -> str:
    text = without_shapes(text)
    if not _PART.search(text):
        return text
    kept, taken = [], 0
    for pair in _PAIR.finditer(text):
        start, end = _secret_behind(pair) if pair.end() >= taken else (0, 0)
        if start > taken:
            kept += [text[taken:start], REMOVED]
        taken = max(taken, end)
    return "".join((*kept, text[taken:]))


def _secret_behind(pair: re.Match[str]) -> tuple[int, int]:
    """The span of the secret after a name; (0, 0) if there is none."""
    pattern = _QUOTED[pair["quote"]] if pair["quote"] else _LISTED if pair["list"] else _BARE
    begins = pattern.match(pair.string, pair.end(), pair.end() + _TELLING_BEGINNING)
    if begins is None or _is_spoken_of(pair, begins[0]):
        return 0, 0
    is_assigned = (
        "=" in pair["sep"] and _WORD.fullmatch(pair["name"]) and not _NOTHING.fullmatch(begins[0])
    )
    value = (
        pattern.match(pair.string, pair.end())
        if is_assigned or _is_secret(pair["name"], begins[0])
        else None
    )
    return value.span() if value else (0, 0)


def _is_spoken_of(pair: re.Match[str], word: str) -> bool:
    """Whether a sentence or a shell mentions only the name, so that the next word is not its value."""
    name, separator = pair["name"], pair["sep"]
    if _SHELL_SAYS.match(pair.string, pair.end()):
        return True
    before = pair.string[max(0, pair.start() - 24) : pair.start()]
    if (
        separator.strip() == ":"
        and _SENTENCE.match(pair.string, pair.end())
        and _SHELL_TELLS.search(before)
    ):
        return True
    if pair.string.endswith("${", 0, pair.start()) and word.startswith("?"):
        return True
    if not name.startswith("-"):
        return separator.isspace()
    if separator.strip() == ":":
        return not _LIKELY.match(word)  # no command line has a colon there
    return "=" not in separator and (word.startswith("-") or word in _PREPOSITIONS)


def _is_secret(name: str, value: str) -> bool:
    """Whether the value of a variable or field with this name is a secret."""
    if _NOTHING.fullmatch(value) or not says_secret(name):
        return False
    if name.lower() in {"pwd", "oldpwd"}:
        return not value.startswith(("/", "~", "."))
    return not _WORD.fullmatch(name) or _LIKELY.match(value) is not None


def says_secret(name: str) -> bool:
    """Whether this is a name of secrets: api_key, --token, HF_TOKEN, password."""
    return bool(_NAME.fullmatch(name)) and not _HARMLESS.fullmatch(name)


def secret_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines with a likely secret, numbered from 1 and redacted; a placeholder such as hf_xxxx is none."""
    for number, line in enumerate(text.splitlines(), 1):
        shown = without_secrets(line) if len(line) <= _LONGEST_LINE else line
        kept = shown.split(REMOVED)
        if shown != line and len(kept) <= _MOST_IN_A_LINE:
            hidden = re.fullmatch("(.+?)".join(map(re.escape, kept)), line)
            if hidden and any(map(_is_random, hidden.groups())):
                yield number, shown


def _is_random(value: str) -> bool:
    likely = _LIKELY.fullmatch(value) or TOKEN.match(value)
    return likely is not None and len(set(value.lower())) >= _TELLING_CHARACTERS


def redactor(variables: Mapping[str, str]) -> Redact:
    """A function that also removes the values of those variables whose names are names of secrets."""
    values = {
        value
        for name, value in variables.items()
        if _is_secret(name, value)
        and len(value) >= _TELLING_CHARACTERS
        and not value.startswith("/")
    }
    longest_first = sorted(values, key=len, reverse=True)
    known = re.compile("|".join(re.escape(value) for value in longest_first) or r"(?!)")
    return lambda text: _keeping_messages(
        text, lambda part: _without_secrets(known.sub(REMOVED, part))
    )


def redacted(value: Value, redact: Redact) -> Value:
    """The same record or JSON value with every text redacted, and every text under the name of a secret removed."""
    shown: Value = _redacted(value, redact)
    return shown


def _redacted(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(name): _redacted_after(name, item, redact) for name, item in value.items()}
    if isinstance(value, list | tuple):
        options = (
            "",
            *(item if isinstance(item, str) and item.startswith("-") else "" for item in value),
        )
        return type(value)(
            _redacted_after(option, item, redact)
            for option, item in zip(options, value, strict=False)
        )
    if is_dataclass(value) and not isinstance(value, type):
        shown = {each.name: _redacted(getattr(value, each.name), redact) for each in fields(value)}
        changed = {name: text for name, text in shown.items() if text != getattr(value, name)}
        return replace(value, **changed) if changed else value
    return value


def _redacted_after(name: str, item: Any, redact: Redact) -> Any:
    """The redacted value of a name or option; after an option, another option is not its value."""
    if not isinstance(item, str) or item.startswith("-"):
        return _redacted(item, redact)
    is_secret = says_secret(name) if name.startswith("-") else _is_secret(name, item)
    return REMOVED if is_secret else redact(item)
