"""Parses the arguments of `vllm serve` like vLLM's own parser, but collects all problems.

vLLM's parser is Python's argparse with dashes for underscores, dotted options (`--compilation-config.mode 3`) and
-O<level>. Unambiguous abbreviations of long options are accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.stages.plan.vllm_cli.catalogue import Catalogue, Kind, Option
from healthcheck.stages.plan.vllm_cli.corrections import Correction
from healthcheck.stages.plan.vllm_cli.corrections import Kind as Change
from healthcheck.text.messages import msg

LEVELS = {(level,) for level in "0123"}
YES = {"true", "1", "yes", "on", "y", "t"}
_TWO_WORDS = re.compile(r"--?[\w.-]+ +[\w.:/@,+-]+")
_PLAIN_OPTION = re.compile(r"--[a-z][\w.-]*(?:=[\w.:/@,+-]*)?")
NEGATIVE_NUMBER = re.compile(r"-\d+$|-\d*\.\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An option on the command line.

    Attributes:
        at: its index in the argument vector.
        written: the option as written.
        flag: the spelling in the catalogue; differs from `written` for an abbreviation.
        key: for a dotted option, the part after the first dot.
        values: its values.
    """

    at: int
    written: str
    flag: str
    option: Option
    key: str = ""
    values: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The option with its values, as written."""
        return " ".join((self.written, *self.values)).rstrip()


_LONG_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d"
"""Dashes that word processors and chats substitute for two hyphens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that vLLM rejects, in its parser or later.

    Attributes:
        at: the index in the argument vector.
        flag: the option as written, or "" for a stray word.
        unknown: the release has no such option.
        parser: the name of a parser that the release does not have; "" for any other problem.
        accepted: vLLM accepts the argument, and ignores a part of it.
        correction: the repair, if it can be given exactly.
        split: how many of the arguments behind the option and its value a shell split off the value.
    """

    at: int
    flag: str
    expected: str
    seen: str
    fix: str
    unknown: bool = False
    parser: str = ""
    accepted: bool = False
    correction: Correction | None = None
    split: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A parsed argument vector."""

    model: str | None
    arguments: tuple[Argument, ...]
    problems: tuple[Problem, ...]

    def last(self, flag: str) -> Argument | None:
        """The last occurrence of an option, which is the one that counts."""
        return next((each for each in reversed(self.arguments) if flag in each.option.flags), None)


def parse(argv: tuple[str, ...], catalogue: Catalogue) -> Parsed:
    """Parse an argument vector (without `vllm serve`); never raises."""
    splitter = _Splitter(argv, catalogue)
    splitter.split()
    return Parsed(
        model=splitter.model, arguments=tuple(splitter.arguments), problems=tuple(splitter.problems)
    )


class _Splitter:
    def __init__(self, argv: tuple[str, ...], catalogue: Catalogue) -> None:
        self.argv = argv
        self.catalogue = catalogue
        self.model: str | None = None
        self.arguments: list[Argument] = []
        self.problems: list[Problem] = []
        self._at = 0

    def split(self) -> None:
        while self._at < len(self.argv):
            at, word = self._at, self.argv[self._at]
            self._at += 1
            if word == "--":
                for stray in range(self._at, len(self.argv)):
                    self._positional(stray)
                return
            if self._is_value(word):
                self._positional(at)
            else:
                self._option(at, word)

    def _positional(self, at: int) -> None:
        word = self.argv[at]
        if self.model is None:
            self.model = word
            return
        before = self.arguments[-1] if self.arguments else None
        flag, correction = "", None
        if before and before.at == at - 1 and before.option.kind is Kind.SWITCH:
            flag = before.written
            correction = Correction(kind=Change.REMOVE) if word.lower() in YES else None
            expected, fix = (
                msg("{written} alone: it is a switch", written=flag),
                msg("write {written}, or remove it", written=flag),
            )
            seen = msg("{written} {word}", written=flag, word=word)
        elif word.startswith("-") and " " in word:
            flag = word.split()[0]
            expected, seen = (
                msg("the option and its value as two words"),
                msg("one word “{word}”", word=word),
            )
            fix = msg('take away the quotes around both; an array needs "${args[@]}"')
            correction = (
                Correction(kind=Change.WORDS, new=word) if _TWO_WORDS.fullmatch(word) else None
            )
        elif word[:1] and word[0] in _LONG_DASHES:
            expected = msg("options that begin with plain hyphens")
            seen = msg("“{word}”, with another dash", word=word[:80])
            plain = f"--{word.lstrip(_LONG_DASHES + '-')}"
            fix = msg("write {option}", option=plain[:80])
            correction = (
                Correction(kind=Change.WORDS, new=plain) if _PLAIN_OPTION.fullmatch(plain) else None
            )
        elif not word.strip():
            expected, seen = msg("no empty argument"), msg("an empty argument, which vLLM refuses")
            fix = msg("look for a quoted variable that is empty, or a space after a backslash")
        else:
            expected = msg("options and their values after the model")
            seen = msg("the stray word “{word}”", word=word[:80])
            fix = msg("remove it, or put quotes around the value that it belongs to")
        self._refuse(at, flag, expected, seen, fix, correction=correction)

    def _option(self, at: int, word: str) -> None:
        written, equals, explicit = _spelled(word).partition("=")
        short = re.match(r"-O=?(.+)$", word)
        if short and not word.startswith("--"):
            written, equals, explicit = "--optimization-level", "=", short.group(1)
        elif word == "-O" and self.argv[self._at : self._at + 1] in LEVELS:
            written = "--optimization-level"
        flag, key = self._resolve(at, word, written)
        option = self.catalogue.find(flag) if flag else None
        if option is None:
            if not equals:
                self._values("+")
            return
        if not flag.startswith("--") and not equals and not key and len(written) > len(flag):
            equals, explicit = "=", written[len(flag) :]
        values = self._taken(at, word, option, key, (explicit,) if equals else None)
        self.arguments.append(
            Argument(
                at=at,
                written=word.partition("=")[0],
                flag=flag,
                option=option,
                key=key,
                values=values,
            )
        )

    def _resolve(self, at: int, word: str, written: str) -> tuple[str, str]:
        """The catalogue's spelling of an option ("" if unknown), and the part after a dot."""
        if self.catalogue.find(written):
            return written, ""
        base, dot, key = written.partition(".")
        candidates = self._matching(base)
        if len(candidates) == 1:
            return candidates[0], key
        shown, release = word.partition("=")[0], f"vLLM {self.catalogue.vllm}"
        if candidates:
            expected = msg("an option of {release}, spelled out", release=release)
            seen = msg(
                "{shown} may be {named}", shown=shown, named=", ".join(sorted(candidates)[:4])
            )
            self._refuse(
                at,
                shown,
                expected,
                seen,
                msg("write {candidates} in full", candidates=min(candidates)),
            )
            return "", key
        near = self.catalogue.like(base)
        fix = msg("did you mean {near}?", near=f"{near}{dot}{key}") if near else msg("remove it")
        expected, seen = (
            msg("an option of {release}", release=release),
            msg("{shown}, which it does not have", shown=shown),
        )
        correction = None
        if near and self.catalogue.is_the_only_one_like(base) and self._suits(near, word):
            correction = Correction(kind=Change.NAME, new=f"{near}{dot}{key}")
        self._refuse(at, shown, expected, seen, fix, unknown=True, correction=correction)
        return "", key

    def _suits(self, near: str, word: str) -> bool:
        """Whether a known option accepts what was written after an unknown one."""
        option, after = self.catalogue.find(near), self.argv[self._at : self._at + 1]
        has_value = "=" in word or bool(after and self._is_value(after[0]))
        return option is not None and (option.kind is not Kind.SWITCH) == has_value

    def _matching(self, base: str) -> tuple[str, ...]:
        if self.catalogue.find(base):
            return (base,)
        if not base.startswith("--") and self.catalogue.find(base[:2]):
            return (base[:2],)
        found = self.catalogue.starting(base) if len(base) > 1 and base != "--" else ()
        return tuple(flag for flag in found if flag.startswith("--") == base.startswith("--"))

    def _taken(
        self, at: int, word: str, option: Option, key: str, explicit: tuple[str, ...] | None
    ) -> tuple[str, ...]:
        name = word.partition("=")[0]
        if option.kind is Kind.SWITCH:
            if explicit is not None:
                alone = msg("{name} alone: it is a switch", name=name)
                yes = explicit[0].lower() in YES
                correction = Correction(kind=Change.WORDS, new=name) if yes else None
                fix = msg("write {name}, or remove it", name=name)
                self._refuse(at, name, alone, word, fix, correction=correction)
            return ()
        if explicit is not None:
            return explicit
        if key:  # takes any word
            values = self.argv[self._at : self._at + 1]
            self._at += len(values)
        else:
            values = self._values(option.nargs)
        if not values and option.nargs != "?":
            expected = msg("a value after {name}", name=name)
            fix = msg("write one, or set the variable that {name} takes its value from", name=name)
            self._refuse(at, name, expected, msg("nothing"), fix)
        return values

    def _values(self, nargs: str | None) -> tuple[str, ...]:
        limit = len(self.argv) if nargs == "+" else self._at + 1
        start = self._at
        while self._at < min(limit, len(self.argv)) and self._is_value(self.argv[self._at]):
            self._at += 1
        return self.argv[start : self._at]

    def _is_value(self, word: str) -> bool:
        """Whether argparse takes a word for a value: without leading dash, a negative number, or with a blank."""
        if not word.startswith("-") or word == "-":
            return True
        written = _spelled(word).partition("=")[0]
        if self.catalogue.find(written) or self._matching(written.partition(".")[0]):
            return False
        return bool(NEGATIVE_NUMBER.match(word)) or " " in word

    def _refuse(
        self,
        at: int,
        flag: str,
        expected: str,
        seen: str,
        fix: str,
        *,
        unknown: bool = False,
        correction: Correction | None = None,
    ) -> None:
        self.problems.append(
            Problem(
                at=at,
                flag=flag,
                expected=expected,
                seen=seen,
                fix=fix,
                unknown=unknown,
                correction=correction,
            )
        )


def _spelled(word: str) -> str:
    """Replace underscores in the option name of a word by dashes, as vLLM does."""
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    base, dot, key = name.partition(".")
    return base.replace("_", "-") + dot + key + equals + value


def repeated(arguments: tuple[Argument, ...]) -> Iterator[tuple[Argument, Argument]]:
    """Pairs of an option and its next occurrence with another value."""
    seen: dict[str, Argument] = {}
    for argument in arguments:
        name = f"{argument.option.name}.{argument.key}" if argument.key else argument.option.name
        before = seen.get(name)
        if (
            before
            and not argument.option.repeats
            and not argument.key.endswith("+")
            and _differ(before, argument)
        ):
            yield before, argument
        seen[name] = argument


def _differ(one: Argument, other: Argument) -> bool:
    if one.option.kind is Kind.SWITCH:
        return one.flag.startswith("--no-") != other.flag.startswith("--no-")
    return one.values != other.values
