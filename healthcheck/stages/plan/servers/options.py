"""Parses command lines like the engines' own parsers: abbreviations, underscores, `=`, repeated options."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from healthcheck.engines.base import Engine, Grammar, Launch
from healthcheck.engines.vllm import VLLM
from healthcheck.system.files import DATA

_CONFIG = "--config"
UNRESOLVED = "<unresolved:"
"""Prefix of a word that the dry run could not determine."""
_SWITCH = re.compile(
    r"(no|enable|disable|enforce|skip|use|trust|allow|return|log|is)-|.*-only$|headless$|reload$|debug$"
)
_VALUED = re.compile(
    r".*-(path|config|port|name|host|size|len|num|ids?|level|file|dir|format|type|parser|backend)$"
)
_NUMBER = re.compile(r"-\d+(\.\d*)?([eE][-+]?\d+)?$|-\.\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A parsed command line.

    Attributes:
        options: the last value of each option by long name; "" for a bare switch.
        lists: all values of each option, in order.
        spelled: each option as written on the command line ("--por 8000").
        positional: the positional arguments.
    """

    options: Mapping[str, str]
    lists: Mapping[str, tuple[str, ...]]
    spelled: Mapping[str, str]
    positional: tuple[str, ...]


def parse(argv: Sequence[str], grammar: Grammar) -> CommandLine:
    """Parse leniently: an unknown option takes the next word as its value, unless that word is an option."""
    options: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    spelled: dict[str, str] = {}
    positional: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            positional += rest
            break
        if not _is_option(word):
            positional.append(word)
            continue
        name, equals, value = _split(word, grammar)
        taken = [value] if equals else _values(name, rest, grammar)
        del rest[: 0 if equals else len(taken)]
        options.pop(opposite(name), None)
        options[name] = " ".join(taken)
        lists[name] = tuple(taken)
        spelled[name] = f"{word} {' '.join(taken)}".strip() if not equals else word
    return CommandLine(options=options, lists=lists, spelled=spelled, positional=tuple(positional))


def command_line(argv: Sequence[str], launch: Launch) -> CommandLine:
    """Parse the arguments of a launch; a --config that its engine ignores is not among the options.

    vLLM and SGLang read a file of options if the separate word --config is among the arguments. Their argument
    parsers accept --config=FILE, whose value nothing reads. Sources: parse_args of vLLM's FlexibleArgumentParser
    (0.23.0, 0.32.0), prepare_server_args of SGLang.
    """
    line = parse(argv, grammar_of(launch))
    if not launch.engine.options.config_file or "config" not in line.options:
        return line
    options = {name: value for name, value in line.options.items() if name != "config"}
    if _CONFIG in argv:
        after = argv.index(_CONFIG) + 1
        options["config"] = "".join(argv[after : after + 1])
    return replace(line, options=options)


def option_name(word: str, grammar: Grammar) -> str:
    """The long name of the option that a word of a command line gives; "" for another word."""
    return _split(word, grammar)[0] if _is_option(word) else ""


def tokens(text: str) -> int | None:
    """Parse a number of tokens as vLLM does: 32768, 32k (thousands), 32K (times 1024)."""
    found = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)([kKmMgG]?)", text)
    factor = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}
    return int(float(found[1]) * factor[found[2]]) or None if found else None


def opposite(name: str) -> str:
    """The name of the switch that reverses this one; the last of the two counts."""
    return name.removeprefix("no-") if name.startswith("no-") else f"no-{name}"


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not _NUMBER.match(word)


def _split(word: str, grammar: Grammar) -> tuple[str, str, str]:
    head, equals, value = word.partition("=")
    if head.startswith("--"):
        return grammar.full_name(head[2:].replace("_", "-")), equals, value
    base, dot, rest = head.partition(".")
    if base in grammar.short:
        return f"{grammar.short[base]}{dot}{rest}", equals, value
    glued = next(
        (s for s in grammar.short if len(s) == 2 and head.startswith(s) and head[2:].isdigit()), ""
    )
    if glued:
        return grammar.short[glued], "=", head[2:]
    return head.lstrip("-"), equals, value


def _values(name: str, rest: Sequence[str], grammar: Grammar) -> list[str]:
    """The values of an option, from the words after it."""
    if name in grammar.switches:
        return []
    if name in grammar.many:
        end = next((i for i, word in enumerate(rest) if _is_option(word)), len(rest))
        return list(rest[:end])
    known = name.split(".", maxsplit=1)[0] in grammar.valued or _VALUED.match(name)
    if (
        not rest
        or (_is_option(rest[0]) and not rest[0].startswith("-{"))
        or (not known and _SWITCH.match(name))
    ):
        return []
    return [rest[0]]


def grammar_of(launch: Launch) -> Grammar:
    """The known options of a launch; those of an engine with catalogues are read on demand."""
    return _catalogued(launch.engine) if launch.engine.is_catalogued else launch.grammar


def vllm_grammar() -> Grammar:
    """The options of `vllm serve` in all catalogued releases; the check plan/flags uses those of each release."""
    return _catalogued(VLLM)


@lru_cache(maxsize=8)
def _catalogued(engine: Engine) -> Grammar:
    """The options of an engine in all its catalogues.

    The catalogues are read as plain JSON because the sandbox, which needs them too, has only the standard library.
    """
    files = sorted(DATA.glob(engine.options.catalogue))
    options: list[dict[str, Any]] = [
        each for file in files for each in json.loads(file.read_bytes())["options"]
    ]
    named = [(flag, option) for option in options for flag in option["flags"]]
    names = [(flag[2:], option) for flag, option in named if flag.startswith("--")]
    switches = frozenset(name for name, option in names if option["kind"] == "switch")
    many = frozenset(name for name, option in names if option.get("nargs") == "+")
    valued = frozenset(name for name, _ in names) - switches - many
    short = {
        flag: next(name for name in option["flags"] if name.startswith("--"))[2:]
        for flag, option in named
        if not flag.startswith("--")
    }
    return Grammar(
        switches=switches, many=many, valued=valued, short={**short, **engine.options.rewritten}
    )
