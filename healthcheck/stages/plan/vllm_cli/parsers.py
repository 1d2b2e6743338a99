"""The parsers of thoughts and tool calls that go with a model, by its type and by its chat template."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck.stages.plan.records import Format
from healthcheck.stages.repo.tree import read_inside
from healthcheck.system import json_text
from healthcheck.system.files import DATA
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

REASONING, TOOLS = "reasoning-parser", "tool-call-parser"
THINKS = re.compile("think>")
_AUTO = "--enable-auto-tool-choice"
_MAX_BYTES = 4 * 1024**2
_TYPO = 0.8
"""The least similarity of a name with a typing error; "qwen" is not like "qwen3_xml"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The parsers that go with some models.

    Attributes:
        models: values of model_type; `mark` is a pattern in the chat templates of others.
        parsers: the best-known one first.
    """

    option: str
    parsers: tuple[str, ...]
    source: str
    models: tuple[str, ...] = ()
    mark: str = "(?!)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delimiters:
    """The tokens around a thought that some reasoning parsers look up in the vocabulary.

    Attributes:
        vllm: the releases whose parsers raise an error without one of the tokens, as a range of versions.
    """

    parsers: tuple[str, ...]
    tokens: tuple[str, ...]
    vllm: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsers:
    """The pairs, and the reasoning parsers that take all text for a thought until `</think>`."""

    source: str
    until_the_end: frozenset[str]
    delimiters: tuple[Delimiters, ...]
    pairs: tuple[Pair, ...]


@functools.cache
def known_parsers() -> Parsers:
    return json_text.load_as((DATA / "parsers.json").read_bytes(), Parsers)


def pair_of(option: str, form: Format) -> Pair | None:
    """The pair of a model; None if no source pairs it."""
    pairs = (pair for pair in known_parsers().pairs if pair.option == option)
    return next(
        (
            pair
            for pair in pairs
            if form.model_type in pair.models or re.search(pair.mark, form.template)
        ),
        None,
    )


def delimiters_of(parser: str) -> Delimiters | None:
    """The tokens that a reasoning parser needs; None if that is unknown."""
    return next((each for each in known_parsers().delimiters if parser in each.parsers), None)


def read_format(weights: Path) -> Format:
    """The format of the weights in a folder, from its small files."""
    kind = _object(weights, "config.json").get("model_type")
    jinja = read_inside(weights, "chat_template.jinja", _MAX_BYTES)
    template: object = jinja.decode("utf-8", "replace") if jinja else None
    if not template:
        template = _object(weights, "tokenizer_config.json").get("chat_template")
    if isinstance(template, list):
        named = [each for each in template if isinstance(each, dict)]
        template = next(
            (each.get("template") for each in named if each.get("name") == "default"), ""
        )
    return Format(
        model_type=kind if isinstance(kind, str) else "",
        template=template if isinstance(template, str) else "",
    )


def _object(weights: Path, name: str) -> dict[str, object]:
    try:
        found = json_text.load(read_inside(weights, name, _MAX_BYTES) or b"")
    except JsonError:
        return {}
    return dict(found) if isinstance(found, dict) else {}


def repair(option: str, given: str, form: Format, known: Sequence[str]) -> str:
    """The repair for a parser that the release does not have: that of the model, never the nearest name alone.

    Args:
        option: its name without dashes.
        given: the unknown parser.
        form: the model's format.
        known: the parsers of the release.
    """
    removed = f"{_AUTO} and --{option}" if option == TOOLS else f"--{option}"
    pair = pair_of(option, form)
    meant = fitting_parser(option, given, form, known)
    if pair and meant:
        whose = msg('"model_type": "{kind}"', kind=form.model_type)
        if form.model_type not in pair.models:
            whose = msg("the calls in the chat template")
        return msg(
            "write --{option} {parser}, which fits {whose}",
            option=option,
            parser=meant,
            whose=whose,
        )
    if _has_no_thoughts(option, form, _fitting(pair, known)):
        return msg("remove {removed}: the chat template has no thoughts", removed=removed)
    if pair:
        return msg("remove {removed}: this release has no parser for the model", removed=removed)
    near = difflib.get_close_matches(given, known, n=1, cutoff=_TYPO)
    if near:
        return msg(
            "write --{option} {parser} if the model's card names it, or remove {removed}",
            option=option,
            parser=near[0],
            removed=removed,
        )
    return msg("remove {removed}, or write the parser that the model's card names", removed=removed)


def fitting_parser(option: str, given: str, form: Format, known: Sequence[str]) -> str:
    """The parser that a source pairs with the model, if the release has it; "" otherwise."""
    fitting = _fitting(pair_of(option, form), known)
    if not fitting or _has_no_thoughts(option, form, fitting):
        return ""
    return next((parser for parser in fitting if _letters(parser) == _letters(given)), fitting[0])


def _fitting(pair: Pair | None, known: Sequence[str]) -> list[str]:
    return [parser for parser in pair.parsers if parser in known] if pair else []


def _has_no_thoughts(option: str, form: Format, fitting: Sequence[str]) -> bool:
    """Whether the parser would take every answer for a thought, because the template has no thoughts."""
    thoughtless = bool(form.template) and not THINKS.search(form.template)
    return option == REASONING and thoughtless and known_parsers().until_the_end.issuperset(fitting)


def _letters(parser: str) -> str:
    """The name without the signs between its words."""
    return re.sub(r"[^a-z0-9]", "", parser.lower())
