"""Checks whether vLLM accepts the value of an option: its type, limits, choices and keys."""

from __future__ import annotations

import difflib
import json
import operator
import re
from collections.abc import Callable, Iterator
from functools import reduce

from healthcheck.ascend import stacks
from healthcheck.stages.plan.vllm_cli.catalogue import Catalogue, Kind, Option, limits
from healthcheck.stages.plan.vllm_cli.grammar import Argument, Parsed, Problem
from healthcheck.text.messages import msg

COUNT = re.compile(r"(?:(?P<decimal>\d+(?:\.\d+)?)[kmgt]|(?P<binary>\d+)[KMGT])$")
HUMAN = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
STRINGS = re.compile(r'("(?:[^"\\]|\\.?)*(?:"|\Z))')
"""Strings in JSON. An unterminated one reaches to the end of the text, so that no part is scanned twice."""
OBJECTS = {"--additional-config", "--hf-overrides", "--model-loader-extra-config"}
"""Options that the parser accepts with any text, although vLLM later needs a JSON object."""
ADDED_BY_VLLM_ASCEND = {"--quantization": ("ascend",), "--load-format": ("netloader", "rfork")}
CHOICES_OF_VLLM_ASCEND = {"--kv-cache-dtype": (("int8", "0.29.0"), ("mxfp8", "0.30.0"))}
"""Choices with their first vLLM release. Source: vllm_ascend/patch/platform/patch_kv_cache_dtype.py."""
BACKEND = "--attention-backend"
"""The option's names are case-insensitive, and do not include "auto"."""
PLUGINS = {"--tool-call-parser": "--tool-parser-plugin", "--reasoning-parser": "--reasoning-parser-plugin"}
NEEDS = (
    ("--enable-auto-tool-choice", "--tool-call-parser"),
    ("--enable-log-outputs", "--enable-log-requests"),
)
"""Switches that vLLM rejects without another option, before loading anything."""
BATCH = "--max-num-batched-tokens"
_BOUNDS: tuple[tuple[Callable[[float, float], bool], Callable[[float], str]], ...] = (
    (operator.ge, lambda limit: msg("at least {limit:g}", limit)),
    (operator.gt, lambda limit: msg("more than {limit:g}", limit)),
    (operator.le, lambda limit: msg("at most {limit:g}", limit)),
    (operator.lt, lambda limit: msg("less than {limit:g}", limit)),
)
"""The limits in the order of `Option.range`."""
MAX_SHOWN = 160
MAX_CHARACTERS = 16 * 1024
"""A longer value is not judged, except plain text; a long --compilation-config has 4 kB."""


def judge(parsed: Parsed, catalogue: Catalogue) -> Iterator[Problem]:
    """The values of known options that a release rejects."""
    for argument in parsed.arguments:
        if is_too_long(argument):
            continue
        reasons = (_reason(argument, value, catalogue) for value in argument.values)
        reason = next((reason for reason in reasons if reason), None) or _unknown_name(argument, parsed, catalogue)
        if reason:
            expected, fix = reason
            shown = " ".join(value or "''" for value in argument.values)
            seen = msg("{written} {shown}", argument.written, shown)[:MAX_SHOWN]
            yield Problem(at=argument.at, flag=argument.written, expected=expected, seen=seen, fix=fix)
    for switch, needed in NEEDS:
        given = parsed.last(switch)
        if given and not given.flag.startswith("--no-") and parsed.last(needed) is None:
            expected, seen = msg("{needed} beside {switch}", needed, switch), msg("{switch} alone", switch)
            fix = msg("add {needed}, or take {switch} out", needed, switch)
            yield Problem(at=given.at, flag=switch, expected=expected, seen=seen, fix=fix)
    yield from _small_batch(parsed)


def is_too_long(argument: Argument) -> bool:
    """Whether a value is too long to be judged."""
    return argument.option.kind is not Kind.TEXT and any(len(value) > MAX_CHARACTERS for value in argument.values)


def _small_batch(parsed: Parsed) -> Iterator[Problem]:
    """A batch that is too small for other options. Source: verify_max_model_len in vllm/config/scheduler.py."""
    batch, tokens = parsed.last(BATCH), _whole(parsed, BATCH)
    chunks = parsed.last("--enable-chunked-prefill")
    whole = chunks is not None and chunks.flag.startswith("--no-")
    for other in ("--max-num-seqs", *(("--max-model-len",) if whole else ())):
        least = _whole(parsed, other)
        if batch and tokens is not None and least is not None and tokens < least:
            prompts = msg(" where prompts are not cut into chunks") if other == "--max-model-len" else ""
            expected = msg("{batch} of at least {other}{prompts}", BATCH, other, prompts)
            seen = msg("{batch} {tokens}, {other} {least}", BATCH, tokens, other, least)
            fix = msg("write {batch} {least}", BATCH, least)
            yield Problem(at=batch.at, flag=BATCH, expected=expected, seen=seen, fix=fix)


def _whole(parsed: Parsed, name: str) -> int | None:
    """The last value of an option as an integer; None if it is absent or not just digits."""
    given = parsed.last(name)
    text = given.values[0] if given and given.values else ""
    return int(text) if text.isdecimal() and len(text) < 12 else None


Reason = tuple[str, str]
"""What was expected, and the repair."""


def _reason(argument: Argument, value: str, catalogue: Catalogue) -> Reason | None:
    option = argument.option
    name = option.name
    if argument.key:
        return _key(argument)
    if option.optional and value in {"", "None"}:
        return None
    if not value and option.kind is not Kind.TEXT:
        fix = msg("set the variable that {name} takes its value from", name)
        return msg("a value for {name}, not an empty word", name), fix
    if option.choices and value not in (*option.choices, *_added_choices(name, catalogue)):
        near = difflib.get_close_matches(value, option.choices, n=1, cutoff=0.5) or option.choices
        expected = msg("{name} as one of {choices}", name, ", ".join(option.choices[:14]))
        return expected, msg("write {name} {value}", name, near[0])
    if option.kind in {Kind.JSON, Kind.JSON_OR_TEXT}:
        return _json(option, value)
    return None if option.kind is Kind.TEXT else _number(option, value)


def _added_choices(name: str, catalogue: Catalogue) -> Iterator[str]:
    """The choices that vllm-ascend adds to this vLLM release."""
    for choice, since in CHOICES_OF_VLLM_ASCEND.get(name, ()):
        if not stacks.is_older(catalogue.vllm, since):
            yield choice


def _number(option: Option, value: str) -> Reason | None:
    words = {Kind.INT: msg("a whole number"), Kind.FLOAT: msg("a number")}.get(
        option.kind, msg("a whole number, as 32768, 32k or 32K")
    )
    number = _value_of(option.kind, value)
    if number is None:
        return msg("{name} as {kind}", option.name, words), msg("write {name} with digits alone", option.name)
    given = zip(_BOUNDS, option.range or limits(option.name), strict=True)
    bounds = [(holds, says, limit) for (holds, says), limit in given if limit is not None]
    if all(holds(number, limit) for holds, _, limit in bounds):
        return None
    named = reduce(lambda low, high: msg("{low} and {high}", low, high), (says(limit) for _, says, limit in bounds))
    bound = next((limit for holds, _, limit in bounds if holds in {operator.ge, operator.le}), bounds[0][2])
    share = 0.9 if option.name == "--gpu-memory-utilization" else bound
    return msg("{name} {limits}", option.name, named), msg("write {name} {share:g}", option.name, share)


def _value_of(kind: Kind, value: str) -> float | None:
    value = value.strip()
    try:
        if kind is Kind.FLOAT:
            return float(value)
        if kind is Kind.COUNT_OR_AUTO and value.lower() in {"auto", "-1"}:
            return 1
        if kind is not Kind.INT and COUNT.match(value):
            return 1
        return int(value)
    except ValueError:
        return None


def _json(option: Option, value: str) -> Reason | None:
    braces = bool(re.match(r"(?s)^\s*{.*}\s*$", value))
    if option.kind is Kind.JSON_OR_TEXT and not braces and option.name not in OBJECTS:
        return None
    example = msg("""'{"key": "value"}' in single quotes, with double quotes inside""")
    fix = msg("write {name} {value}", option.name, example)
    try:
        found = json.loads(_without_units(value) if option.keys else value)
    except (ValueError, RecursionError) as error:
        return msg("{name} as JSON ({error})", option.name, error), fix
    if not isinstance(found, dict):
        needs_object = option.keys or option.name in OBJECTS
        return (msg("{name} as a JSON object", option.name), fix) if needs_object else None
    unknown = next((str(key) for key in found if option.keys and key not in option.keys), None)
    return None if unknown is None else _unknown_key(option, unknown)


def _without_units(text: str) -> str:
    """Replace counts with units (80m, 1K), which vLLM allows outside strings, by plain JSON numbers."""
    parts = STRINGS.split(text)
    parts[::2] = [HUMAN.sub("1", part) for part in parts[::2]]
    return "".join(parts)


def _key(argument: Argument) -> Reason | None:
    """A dotted option must take an object, and its key must be a key of that object."""
    option = argument.option
    if option.kind not in {Kind.JSON, Kind.JSON_OR_TEXT}:
        return msg("{name} without a dot: it takes no object", option.name), msg("write {name} VALUE", option.name)
    first = argument.key.partition(".")[0].removesuffix("+")
    return _unknown_key(option, first) if option.keys and first not in option.keys else None


def _unknown_key(option: Option, key: str) -> Reason:
    near = difflib.get_close_matches(key, option.keys, n=1, cutoff=0.6)
    meant = msg("take {key} out", repr(key))
    if near:
        meant = msg("did you mean {near}? If not, take {key} out", repr(near[0]), repr(key))
    known = ", ".join(option.keys[:8])
    return msg("a key that {name} has ({known}, …), not {key}", option.name, known, repr(key)), meant


def _unknown_name(argument: Argument, parsed: Parsed, catalogue: Catalogue) -> Reason | None:
    """A name that vLLM does not find after parsing: a quantisation method, load format or output parser."""
    name = argument.option.name
    known = (*catalogue.known.get(name, ()), *ADDED_BY_VLLM_ASCEND.get(name, ()))
    value = argument.values[0] if argument.values else ""
    if name == BACKEND and value != "None":
        value = "" if value.lower() == "auto" else value.upper()
    if len(known) < 2 or not value or value == "None" or value in known:
        return None
    if name in PLUGINS and parsed.last(PLUGINS[name]):
        return None
    if name == "--tool-call-parser" and parsed.last("--enable-auto-tool-choice") is None:
        return None
    near = difflib.get_close_matches(value, known, n=1, cutoff=0.6)
    meant = msg("did you mean {near}?", near[0]) if near else msg("take {name} out, or write one of these", name)
    return msg("{name} as one of {known}", name, ", ".join(known)), meant
