"""Parses nginx configurations into directives; an included file takes the place of its `include`."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from healthcheck.errors import KitError
from healthcheck.text.messages import msg

MAX_DEPTH = 12
MAX_DIRECTIVES = 5000
_QUOTED = 80
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<sign>[;{}])"""
    r"""|(?P<word>(?:\$\{\w*\}|[^\s;{}"'])(?:\$\{\w*\}|[^\s;{}])*)"""
)
_HARMLESS = re.compile(
    r"(?:^|/)(?:mime\.types|\w+_params|modules-enabled/\S*|conf\.d/\S*\*\S*|sites-enabled/\S*\*\S*)$"
)
"""Files that route nothing, and the patterns of the usual folders, whose files are recorded if there are any."""


class NginxError(KitError):
    """The configuration cannot be read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """A directive with its words and the directives of its block; `place` is its file and line ("nginx.conf:7")."""

    name: str
    words: tuple[str, ...]
    block: tuple[Directive, ...]
    place: str

    def all(self, name: str) -> tuple[Directive, ...]:
        """The directives of this name right in the block."""
        return tuple(each for each in self.block if each.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    text: str
    line: int
    is_sign: bool


def parse(name: str, texts: Mapping[str, str]) -> Directive:
    """The whole configuration as a directive without a name.

    Args:
        name: the main file, a key of `texts`.
        texts: the recorded files by their paths.

    Raises:
        NginxError: the text is not a configuration, or an included file is unknown.
    """
    reader = _Reader(texts)
    return Directive(name="", words=(), block=reader.file(name, 0), place=name)


class _Reader:
    """Reads files until there are too many directives."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._count = 0

    def file(self, path: str, depth: int) -> tuple[Directive, ...]:
        if depth > MAX_DEPTH:
            raise NginxError(msg("more than {limit} files include each other", limit=MAX_DEPTH))
        tokens = list(_tokens(self._texts[path]))
        block, rest = self._block(tokens, 0, path, depth)
        if rest != len(tokens):
            place = f"{posixpath.basename(path)}:{tokens[rest].line}"
            raise NginxError(
                msg("unexpected {sign} in {place}", sign=tokens[rest].text, place=place)
            )
        return block

    def _block(
        self, tokens: Sequence[_Token], at: int, path: str, depth: int
    ) -> tuple[tuple[Directive, ...], int]:
        """The directives up to the end of the block, and the position of its end."""
        if depth > MAX_DEPTH:
            raise NginxError(msg("more than {limit} blocks are inside each other", limit=MAX_DEPTH))
        found: list[Directive] = []
        words: list[str] = []
        line = 0
        while at < len(tokens):
            token = tokens[at]
            line = line if words else token.line
            place = f"{posixpath.basename(path)}:{line}"
            if not token.is_sign:
                words.append(token.text)
                at += 1
                continue
            if token.text == "}":
                break
            if not words:
                raise NginxError(msg("unexpected {sign} in {place}", sign=token.text, place=place))
            self._count += 1
            if self._count > MAX_DIRECTIVES:
                raise NginxError(msg("it has more than {limit} directives", limit=MAX_DIRECTIVES))
            inside: tuple[Directive, ...] = ()
            if token.text == "{":
                inside, at = self._block(tokens, at + 1, path, depth + 1)
                if at == len(tokens):
                    raise NginxError(
                        msg("no {sign} ends the block of {place}", sign="}", place=place)
                    )
            at += 1
            if words[0] == "include" and len(words) > 1:
                found += self._included(words[1], path, depth)
            else:
                found.append(
                    Directive(name=words[0], words=tuple(words[1:]), block=inside, place=place)
                )
            words = []
        if words:
            place = f"{posixpath.basename(path)}:{line}"
            raise NginxError(
                msg(
                    "no {sign} ends “{words}” in {place}",
                    sign=";",
                    words=" ".join(words)[:_QUOTED],
                    place=place,
                )
            )
        return tuple(found), at

    def _included(self, pattern: str, path: str, depth: int) -> Iterator[Directive]:
        wanted = posixpath.join(posixpath.dirname(path), pattern)
        files = sorted(each for each in self._texts if fnmatch.fnmatchcase(each, wanted))
        if not files and not _HARMLESS.search(pattern):
            raise NginxError(msg("the included file {name} was not recorded", name=pattern))
        for file in files:
            yield from self.file(file, depth + 1)


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NginxError(msg("a quote in line {line} has no end", line=line))
        if match["space"] is None:
            plain = match["quoted"][1:-1] if match["quoted"] else match[0]
            yield _Token(text=plain, line=line, is_sign=match["sign"] is not None)
        line += match[0].count("\n")
        at = match.end()
