"""Judges the fields of configuration objects, such as those of --compilation-config, as vLLM's classes do."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import reduce
from itertools import chain

from healthcheck.core.records import JsonValue
from healthcheck.stages.plan.vllm_cli.bounds import Reason, outside
from healthcheck.stages.plan.vllm_cli.catalogue import Catalogue, Field, JsonKind, Option
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

SWITCH_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "t", "f", "y", "n"})
"""Texts that pydantic reads as a switch; it reads 1 and 0 as well."""
WORDS = {
    JsonKind.SWITCH_TEXT: msg("true or false"),
    JsonKind.FLOAT: msg("a number"),
    JsonKind.INT: msg("a whole number"),
    JsonKind.TEXT: msg("a text"),
    JsonKind.LIST: msg("a list"),
    JsonKind.OBJECT: msg("an object"),
}
"""What a field takes, in words. One that takes any number takes whole ones as well."""
WHOLE = re.compile(r"\s*[+-]?[\d_]{1,4000}(?:\.0*)?\s*")
"""A text that pydantic reads as a whole number."""
MAX_SHOWN = 80
NEEDS = {
    "--kv-transfer-config": ("kv_connector", "kv_role"),
    "--ec-transfer-config": ("ec_connector", "ec_role"),
}
"""Keys that need another one. Source: __post_init__ of KVTransferConfig and ECTransferConfig."""
_KINDS: Mapping[type, JsonKind] = {
    type(None): JsonKind.NULL, bool: JsonKind.SWITCH, float: JsonKind.FLOAT, list: JsonKind.LIST,
    dict: JsonKind.OBJECT,
}  # fmt: skip


def refused(option: Option, given: Mapping[str, JsonValue], catalogue: Catalogue) -> Reason | None:
    """Why a release refuses an object for an option, None if it takes it."""
    reasons = chain(_refusals(option.name, given, option.fields, catalogue), _lacks(option, given))
    return next(reasons, None)


def nested(key: str, value: str) -> JsonValue:
    """The object that vLLM makes of a dotted option: the key after the first dot, and its value.

    A key with + takes a list with commas. Source: FlexibleArgumentParser.parse_args, vllm/utils/argparse_utils.py.
    """
    inner: JsonValue = list[JsonValue](value.split(",")) if key.endswith("+") else value_of(value)
    for part in reversed(key.removesuffix("+").split(".")):
        inner = {part: inner}
    return inner


def value_of(text: str) -> JsonValue:
    """The value that a text is as JSON, else the text."""
    try:
        return json_text.load(text)
    except JsonError:
        return text


def _refusals(
    name: str, given: Mapping[str, JsonValue], fields: Mapping[str, Field], catalogue: Catalogue
) -> Iterator[Reason]:
    for key, value in given.items():
        field, path = fields.get(key), f"{name}.{key}"
        if field is None:
            yield _unknown(name, key, tuple(fields))
        elif value not in catalogue.added_choices(path) and not _takes(field, value):
            yield _wrong(path, value, field)
        elif isinstance(value, (int, float)) and (beyond := outside(value, field.range)):
            fix = msg("write {good} in place of {key}", good=f"{beyond.good:g}", key=_shown(value))
            yield msg("{name} {limits}", name=path, limits=beyond.limits), fix
        elif isinstance(value, dict) and field.fields:
            yield from _refusals(path, value, field.fields, catalogue)


def _lacks(option: Option, given: Mapping[str, JsonValue]) -> Iterator[Reason]:
    key, needed = NEEDS.get(option.name, ("", ""))
    if given.get(key) and needed in option.fields and not given.get(needed):
        choices = ", ".join(option.fields[needed].choices)
        yield (
            msg("{needed} beside {switch}", needed=needed, switch=key),
            msg("add {needed}, one of {choices}", needed=needed, choices=choices),
        )


def _unknown(name: str, key: str, keys: tuple[str, ...]) -> Reason:
    near, shown = difflib.get_close_matches(key, keys, n=1, cutoff=0.6), repr(key[:MAX_SHOWN])
    meant = msg("take {key} out", key=shown)
    if near:
        meant = msg("write {near}, or take {key} out", near=repr(near[0]), key=shown)
    return msg(
        "a key that {name} has ({known}, …), not {key}",
        name=name,
        known=", ".join(keys[:8]),
        key=shown,
    ), meant


def _takes(field: Field, value: JsonValue) -> bool:
    kind = _kind(value)
    if isinstance(value, str) and kind not in field.takes:
        kind = JsonKind.TEXT
    return not field.takes or (
        kind in field.takes and (kind is not JsonKind.TEXT or _is_choice(str(value), field))
    )


def _is_choice(text: str, field: Field) -> bool:
    """Whether a text is a choice; of some, vLLM takes any mixture of capitals."""
    return (
        not field.choices
        or text in field.choices
        or {text.lower(), text.upper()} <= {*field.choices}
    )


def _kind(value: JsonValue) -> JsonKind:
    if isinstance(value, str):
        return _kind_of_text(value)
    if type(value) is int or (isinstance(value, float) and value.is_integer()):
        return JsonKind.BIT if value in {0, 1} else JsonKind.INT
    return _KINDS[type(value)]


def _kind_of_text(text: str) -> JsonKind:
    if text.lower() in SWITCH_WORDS:
        return JsonKind.SWITCH_TEXT
    if WHOLE.fullmatch(text):
        return JsonKind.INT_TEXT
    with suppress(ValueError):
        float(text)
        return JsonKind.FLOAT_TEXT
    return JsonKind.TEXT


def _wrong(path: str, value: JsonValue, field: Field) -> Reason:
    by_letters = {choice.casefold(): choice for choice in reversed(field.choices)}
    shown = _shown(value)
    if not field.choices:
        kinds = reduce(
            lambda one, other: msg("{one} or {other}", one=one, other=other), _in_words(field)
        )
        return msg("{name} as {kind}", name=path, kind=kinds), msg(
            "write {good} in place of {key}", good=kinds, key=shown
        )
    near = difflib.get_close_matches(shown.strip('"').casefold(), by_letters, n=1, cutoff=0.6)
    good = json.dumps(by_letters[near[0]]) if near else msg("one of these")
    known = ", ".join(sorted(by_letters.values()))
    return msg("{name} as one of {choices}", name=path, choices=known), msg(
        "write {good} in place of {key}", good=good, key=shown
    )


def _shown(value: JsonValue) -> str:
    """A scalar as JSON; of a list or an object, which may be deep, the brackets."""
    if isinstance(value, (list, dict)):
        return "[…]" if isinstance(value, list) else "{…}"
    return json.dumps(value, ensure_ascii=False)[:MAX_SHOWN]


def _in_words(field: Field) -> Iterator[str]:
    hidden = JsonKind.INT if JsonKind.FLOAT in field.takes else None
    yield from (word for kind, word in WORDS.items() if kind in field.takes and kind is not hidden)
