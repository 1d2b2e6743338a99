"""Reads what an author meant by an object that is not JSON, and the limits of --limit-mm-per-prompt."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

LIMITS = "--limit-mm-per-prompt"
MODALITIES = ("image", "video", "audio", "vision_chunk")
"""Kinds of inputs of a chat request. Source: ModalityStr in vllm/entrypoints/chat_utils.py."""
_OPTIONS_OF_A_LIMIT = {
    "image": ("count", "width", "height"),
    "video": ("count", "num_frames", "width", "height"),
    "audio": ("count", "length"),
}
"""Source: the dummy options in vllm/config/multimodal.py, which forbid other keys."""
MAX_CHARACTERS = 4096
MOST_WORDS = 60
_MOST_CLOSERS = 3
_PLAIN_QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'"})
_TOKEN = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}\[\],:=]|[^\s{}\[\],:="']+)""")
_PAIR = re.compile(r"""(?P<key>[A-Za-z_][\w.-]*)[:=](?P<value>[^\s,{}\[\]]+)""")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NAMES = {
    "true": "true",
    "false": "false",
    "null": "null",
    "True": "true",
    "False": "false",
    "None": "null",
}
_CLOSES = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """What is wrong with an object. `corrected` is the object that was meant, None if that is unknown.

    Attributes:
        accepted: vLLM accepts the object, and ignores a part of it.
    """

    expected: str
    fix: str
    corrected: Mapping[str, JsonValue] | None = None
    accepted: bool = False


def intended(text: str) -> dict[str, JsonValue] | None:
    """The object that a text was meant to be, None if that is unknown.

    It reads pairs (image=4,video=1), keys and texts without quotes, as a shell leaves them, Python's quotes and
    those of a word processor, a superfluous comma, and missing brackets at the end.
    """
    text = text.strip().translate(_PLAIN_QUOTES)
    if len(text) > MAX_CHARACTERS:
        return None
    pairs = [part for part in re.split(r"[\s,]+", text) if part]
    if pairs and all(map(_PAIR.fullmatch, pairs)):
        found = (_PAIR.fullmatch(part) for part in pairs)
        return {part["key"]: _scalar(part["value"]) for part in found if part}
    if not text.startswith("{"):
        return None
    try:
        value = json_text.load(_as_json(text))
    except JsonError:
        return None
    return value if isinstance(value, dict) else None


def with_following(text: str, following: Sequence[str]) -> tuple[str, int]:
    """The text of an object that a shell split into several arguments, and how many of the following it has."""
    count = 0
    words = [word for word, _ in zip(following, range(MOST_WORDS), strict=False)]
    for word in words:
        is_open = text.count("{") > text.count("}") or text.count("[") > text.count("]")
        is_pair = _PAIR.fullmatch(word) and all(map(_PAIR.fullmatch, text.split()))
        if word.startswith("--") or not (is_open or is_pair):
            break
        text, count = f"{text} {word}", count + 1
    return text, count


def shown(value: Mapping[str, JsonValue]) -> str:
    """An object as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def limits(given: Mapping[str, JsonValue]) -> Objection | None:
    """What vLLM refuses or ignores in the value of --limit-mm-per-prompt."""
    return next(_limits(given), None)


def renamed(given: Mapping[str, JsonValue], keys: tuple[str, ...]) -> dict[str, JsonValue] | None:
    """The object with the nearest known key in place of each unknown one; None if one is not near to any."""
    found: dict[str, JsonValue] = {}
    for key, value in given.items():
        near = [key] if key in keys else difflib.get_close_matches(key, keys, n=1, cutoff=0.6)
        if not near or near[0] in found:
            return None
        found[near[0]] = value
    return found


def _limits(given: Mapping[str, JsonValue]) -> Iterator[Objection]:
    for kind, limit in given.items():
        count = (
            int(limit) if isinstance(limit, str) and limit.isdecimal() and len(limit) < 6 else None
        )
        if count is not None:
            fix = msg("write {count} without quotes", count=count)
            corrected = {**given, kind: count}
            yield Objection(expected=_number(kind), fix=fix, corrected=corrected)
        elif isinstance(limit, dict):
            known = _OPTIONS_OF_A_LIMIT.get(kind, tuple(limit))
            if key := next((key for key in limit if key not in known), ""):
                expected = msg(
                    "the keys {known} for {kind}, not {key}",
                    known=", ".join(known),
                    kind=repr(kind),
                    key=repr(key[:80]),
                )
                yield Objection(expected=expected, fix=msg("remove {key}", key=repr(key[:80])))
        elif not isinstance(limit, int) or limit < 0:
            yield Objection(
                expected=_number(kind), fix=msg("write a whole number that is not negative")
            )
    unknown = next((kind for kind in given if kind not in MODALITIES), "")
    if unknown:
        kinds = ", ".join(MODALITIES[:3])
        expected = msg("kinds of inputs as the keys of {name}: {known}", name=LIMITS, known=kinds)
        fix = msg(
            "write one of {known} in place of {key}, or remove it",
            known=kinds,
            key=repr(unknown[:80]),
        )
        yield Objection(
            expected=expected, fix=fix, corrected=renamed(given, MODALITIES), accepted=True
        )


def _number(kind: str) -> str:
    return msg(
        "the largest number of inputs of the kind {kind}, or an object with it as its count",
        kind=repr(kind[:80]),
    )


def _as_json(text: str) -> str:
    parts: list[str] = []
    open_: list[str] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return text
        token, at = found[1], found.end()
        if token in _CLOSES:
            open_.append(_CLOSES[token])
        elif token in {"}", "]"}:
            if parts and parts[-1] == ",":
                parts.pop()
            if not open_ or open_.pop() != token:
                return text
        parts.append(_as_json_token(token))
    if len(open_) > _MOST_CLOSERS:
        return text
    return "".join((*parts, *reversed(open_)))


def _as_json_token(token: str) -> str:
    if token in {"{", "}", "[", "]", ",", ":"}:
        return token
    if token == "=":
        return ":"
    if token[0] in "\"'":
        return token if token[0] == '"' else json.dumps(token[1:-1], ensure_ascii=False)
    if token in _NAMES or _NUMBER.fullmatch(token):
        return _NAMES.get(token, token)
    return json.dumps(token, ensure_ascii=False)


def _scalar(text: str) -> JsonValue:
    text = text.strip("\"'")
    try:
        return (
            json_text.load(_NAMES.get(text, text))
            if text in _NAMES or _NUMBER.fullmatch(text)
            else text
        )
    except JsonError:
        return text
