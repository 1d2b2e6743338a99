"""Checks whether vLLM accepts the value of an option: its type, limits, choices and fields."""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from decimal import Decimal

from healthcheck.stages.plan.vllm_cli.bounds import Reason, outside
from healthcheck.stages.plan.vllm_cli.catalogue import Catalogue, Kind, Option, limits
from healthcheck.stages.plan.vllm_cli.corrections import Correction
from healthcheck.stages.plan.vllm_cli.corrections import Kind as Change
from healthcheck.stages.plan.vllm_cli.fields import nested, refused, value_of
from healthcheck.stages.plan.vllm_cli.grammar import Argument, Parsed, Problem
from healthcheck.stages.plan.vllm_cli.objects import (
    LIMITS,
    Objection,
    intended,
    renamed,
    shown,
    with_following,
)
from healthcheck.stages.plan.vllm_cli.objects import limits as limits_of_inputs
from healthcheck.text.messages import msg

COUNT = re.compile(r"(?:(?P<decimal>\d+(?:\.\d+)?)[kmgt]|(?P<binary>\d+)[KMGT])$")
HUMAN = re.compile(r"\b\d+(?:\.\d+)?[kKmMgGtT]\b")
STRINGS = re.compile(r'("(?:[^"\\]|\\.?)*(?:"|\Z))')
"""Strings in JSON. An unterminated one reaches to the end of the text, so that no part is scanned twice."""
OBJECTS = {"--additional-config", "--hf-overrides", "--model-loader-extra-config"}
"""Options that the parser accepts with any text, although vLLM later needs a JSON object."""
ADDED_BY_VLLM_ASCEND = {"--quantization": ("ascend",), "--load-format": ("netloader", "rfork")}
BACKEND = "--attention-backend"
"""The option's names are case-insensitive, and do not include "auto"."""
PLUGINS = {
    "--tool-call-parser": "--tool-parser-plugin",
    "--reasoning-parser": "--reasoning-parser-plugin",
}
NEEDS = (
    ("--enable-auto-tool-choice", "--tool-call-parser"),
    ("--enable-log-outputs", "--enable-log-requests"),
)
"""Switches that vLLM rejects without another option, before loading anything."""
BATCH = "--max-num-batched-tokens"
SHARE, SMALLEST_PERCENTAGE = "--gpu-memory-utilization", 5
MAX_SHOWN = 160
MAX_CHARACTERS = 16 * 1024
"""A longer value is not judged, except plain text; a long --compilation-config has 4 kB."""


def judge(parsed: Parsed, catalogue: Catalogue, argv: Sequence[str] = ()) -> Iterator[Problem]:
    """The values of known options that a release rejects; `argv` is the whole argument vector."""
    for argument in parsed.arguments:
        if is_too_long(argument):
            continue
        reasons = (_reason(argument, value, catalogue) for value in argument.values)
        reason = next((reason for reason in reasons if reason), None) or _unknown_name(
            argument, parsed, catalogue
        )
        text, split = _whole_value(argument, argv)
        objection = _objection(argument, text, catalogue)
        correction = _correction(argument, catalogue)
        if objection:
            correction = _object_correction(argument, objection, split)
        if reason or objection:
            expected, fix = (objection.expected, objection.fix) if objection else reason or ("", "")
            shown = " ".join(value or "''" for value in argument.values)
            seen = msg("{written} {shown}", written=argument.written, shown=shown)[:MAX_SHOWN]
            parser = shown if argument.option.name in PLUGINS else ""
            yield Problem(
                at=argument.at,
                flag=argument.written,
                expected=expected,
                seen=seen,
                fix=fix,
                parser=parser,
                accepted=objection is not None and objection.accepted,
                correction=correction,
                split=split if objection else 0,
            )
    for switch, needed in NEEDS:
        given = parsed.last(switch)
        if given and not given.flag.startswith("--no-") and parsed.last(needed) is None:
            expected, seen = (
                msg("{needed} beside {switch}", needed=needed, switch=switch),
                msg("{switch} alone", switch=switch),
            )
            fix = msg("add {needed}, or take {switch} out", needed=needed, switch=switch)
            yield Problem(at=given.at, flag=switch, expected=expected, seen=seen, fix=fix)
    yield from _small_batch(parsed)


def is_too_long(argument: Argument) -> bool:
    """Whether a value is too long to be judged."""
    return argument.option.kind is not Kind.TEXT and any(
        len(value) > MAX_CHARACTERS for value in argument.values
    )


def _small_batch(parsed: Parsed) -> Iterator[Problem]:
    """A batch that is too small for other options. Source: verify_max_model_len in vllm/config/scheduler.py."""
    batch, tokens = parsed.last(BATCH), _whole(parsed, BATCH)
    chunks = parsed.last("--enable-chunked-prefill")
    whole = chunks is not None and chunks.flag.startswith("--no-")
    for other in ("--max-num-seqs", *(("--max-model-len",) if whole else ())):
        least = _whole(parsed, other)
        if batch and tokens is not None and least is not None and tokens < least:
            prompts = (
                msg(" where prompts are not cut into chunks") if other == "--max-model-len" else ""
            )
            expected = msg(
                "{batch} of at least {other}{prompts}", batch=BATCH, other=other, prompts=prompts
            )
            seen = msg(
                "{batch} {tokens}, {other} {least}",
                batch=BATCH,
                tokens=tokens,
                other=other,
                least=least,
            )
            fix = msg("write {batch} {least}", batch=BATCH, least=least)
            correction = Correction(kind=Change.VALUE, old=batch.values[0], new=str(least))
            yield Problem(
                at=batch.at,
                flag=BATCH,
                expected=expected,
                seen=seen,
                fix=fix,
                correction=correction,
            )


def _whole(parsed: Parsed, name: str) -> int | None:
    """The last value of an option as an integer; None if it is absent or not just digits."""
    given = parsed.last(name)
    text = given.values[0] if given and given.values else ""
    return int(text) if text.isdecimal() and len(text) < 12 else None


def _reason(argument: Argument, value: str, catalogue: Catalogue) -> Reason | None:
    option = argument.option
    name = option.name
    if argument.key:
        return _key(argument, value, catalogue)
    if option.optional and value in {"", "None"}:
        return None
    if not value and option.kind is not Kind.TEXT:
        fix = msg("set the variable that {name} takes its value from", name=name)
        return msg("a value for {name}, not an empty word", name=name), fix
    if option.choices and value not in (*option.choices, *catalogue.added_choices(name)):
        near = difflib.get_close_matches(value, option.choices, n=1, cutoff=0.5) or option.choices
        expected = msg(
            "{name} as one of {choices}", name=name, choices=", ".join(option.choices[:14])
        )
        return expected, msg("write {name} {value}", name=name, value=near[0])
    if option.kind in {Kind.JSON, Kind.JSON_OR_TEXT}:
        return _json(option, value, catalogue)
    return None if option.kind is Kind.TEXT else _number(option, value)


def _number(option: Option, value: str) -> Reason | None:
    words = {Kind.INT: msg("a whole number"), Kind.FLOAT: msg("a number")}.get(
        option.kind, msg("a whole number, as 32768, 32k or 32K")
    )
    number = _value_of(option.kind, value)
    if number is None:
        return msg("{name} as {kind}", name=option.name, kind=words), msg(
            "write {name} with digits alone", name=option.name
        )
    beyond = outside(number, option.range or limits(option.name))
    if beyond is None:
        return None
    good = _share(number) if option.name == SHARE else beyond.good
    return msg("{name} {limits}", name=option.name, limits=beyond.limits), msg(
        "write {name} {share:g}", name=option.name, share=good
    )


def _share(number: float) -> float:
    """The share of a device's memory that a number above 1 was meant as: a percentage, else vLLM's default."""
    return round(number / 100, 4) if number >= SMALLEST_PERCENTAGE and number <= 100 else 0.9


def _correction(argument: Argument, catalogue: Catalogue) -> Correction | None:
    """The value that was meant: the nearest choice, a percentage as a share, or the digits alone."""
    option, value = argument.option, argument.values[0] if len(argument.values) == 1 else ""
    if argument.key or not value:
        return None
    new = ""
    if option.choices and value not in (*option.choices, *catalogue.added_choices(option.name)):
        new = next(iter(difflib.get_close_matches(value, option.choices, n=1, cutoff=0.5)), "")
    elif (
        option.name == SHARE and (number := _value_of(Kind.FLOAT, value)) is not None and number > 1
    ):
        new = f"{_share(number):g}"
    elif (
        option.kind in {Kind.INT, Kind.COUNT, Kind.COUNT_OR_AUTO}
        and _value_of(option.kind, value) is None
    ):
        new = re.sub(r"(?<=\d)[,_' ](?=\d{3}\b)", "", value)
        new = new if new.isdecimal() else ""
    return Correction(kind=Change.VALUE, old=value, new=new) if new else None


def _whole_value(argument: Argument, argv: Sequence[str]) -> tuple[str, int]:
    """The only value of an option with what a shell split off it, and how many arguments that are."""
    value = argument.values[0] if len(argument.values) == 1 else ""
    begins = argument.at + (1 if "=" in "".join(argv[argument.at : argument.at + 1]) else 2)
    return with_following(value, argv[begins:]) if value and not argument.key else (value, 0)


def _objection(argument: Argument, text: str, catalogue: Catalogue) -> Objection | None:
    """What is wrong with an object that is not JSON, has an unknown key, or limits something unknown.

    `text` is the value with what a shell split off it.
    """
    option, value = argument.option, argument.values[0] if len(argument.values) == 1 else ""
    if argument.key or option.kind not in {Kind.JSON, Kind.JSON_OR_TEXT} or not value:
        return None
    reason = _reason(argument, value, catalogue)
    given = value_of(_without_units(value) if option.fields else value)
    if isinstance(given, dict):
        near = renamed(given, tuple(option.fields)) if reason and option.fields else None
        if reason and near and near != given and not refused(option, near, catalogue):
            return Objection(expected=reason[0], fix=reason[1], corrected=near)
        return limits_of_inputs(given) if option.name == LIMITS and not reason else None
    meant = intended(text) if reason else None
    if reason is None or meant is None:
        return None
    fix = msg("write {name} {value}", name=argument.written, value=shlex.quote(shown(meant)))
    return Objection(expected=reason[0], fix=fix, corrected=meant)


def _object_correction(argument: Argument, objection: Objection, split: int) -> Correction | None:
    if objection.corrected is None:
        return None
    new = shown(objection.corrected)
    return Correction(kind=Change.OBJECT, old=argument.values[0], new=new, values=split)


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


def _json(option: Option, value: str, catalogue: Catalogue) -> Reason | None:
    braces = bool(re.match(r"(?s)^\s*{.*}\s*$", value))
    if option.kind is Kind.JSON_OR_TEXT and not braces and option.name not in OBJECTS:
        return None
    fix = msg(
        "write the value of {name} as JSON: single quotes around it, double quotes inside, no comma before }}",
        name=option.name,
    )
    inner = value.strip().removeprefix("'").removesuffix("'")
    if value.strip().startswith("'") and _is_object(inner):
        fix = msg(
            "remove the single quotes from the value of {name}: inside a variable or other quotes, "
            "the shell keeps them",
            name=option.name,
        )
    try:
        found = json.loads(_without_units(value) if option.fields else value)
    except (ValueError, RecursionError) as error:
        return msg("{name} as JSON ({error})", name=option.name, error=error), fix
    if not isinstance(found, dict):
        needs_object = option.fields or option.name in OBJECTS
        return (msg("{name} as a JSON object", name=option.name), fix) if needs_object else None
    return refused(option, found, catalogue) if option.fields else None


def _is_object(text: str) -> bool:
    """Whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _without_units(text: str) -> str:
    """Replace counts with units (80m, 1K), which vLLM allows outside strings, by plain JSON numbers."""
    parts = STRINGS.split(text)
    parts[::2] = [HUMAN.sub(_number_of, part) for part in parts[::2]]
    return "".join(parts)


def _number_of(count: re.Match[str]) -> str:
    number, unit = Decimal(count[0][:-1]), count[0][-1]
    thousand = 1000 if unit.islower() else 1024
    return str(int(number * thousand ** ("kmgt".index(unit.lower()) + 1)))


def _key(argument: Argument, value: str, catalogue: Catalogue) -> Reason | None:
    """A dotted option must take an object, and its key must be a key of that object."""
    option = argument.option
    if option.kind not in {Kind.JSON, Kind.JSON_OR_TEXT}:
        return msg("{name} without a dot: it takes no object", name=option.name), msg(
            "write {name} VALUE", name=option.name
        )
    given = nested(argument.key, value)
    return refused(option, given, catalogue) if option.fields and isinstance(given, dict) else None


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
    other = msg("take {name} out, or write one of these", name=name)
    meant = msg("write {near}, if that was meant", near=near[0]) if near else other
    return msg("{name} as one of {known}", name=name, known=", ".join(known)), meant
