"""The headers of a run, including secrets from the environment; no record stores a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import takewhile

from healthcheck.errors import UsageError
from healthcheck.stages.probe.records import RequestOptions
from healthcheck.text.messages import msg
from healthcheck.text.redact import Redact
from healthcheck.text.secret_shapes import REMOVED

_TELLING_CHARACTERS = 8
"""Shorter values, such as EMPTY, are not searched in answers: they may be part of any word, or a right answer."""
_PLAIN = re.compile(r"[\t -~]+")
_CONVENTIONAL_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")


def headers_of(options: RequestOptions, environment: Mapping[str, str]) -> dict[str, str]:
    """The headers of each request.

    Raises:
        UsageError: a named variable is not set, or its value is not valid in a header. No value is quoted.
    """
    sent = dict(options.headers)
    for header, variable in options.headers_env.items():
        sent[header] = _value(f"headers_env.{header}", variable, environment)
    if options.api_key_env:
        sent["Authorization"] = f"Bearer {_value('api_key_env', options.api_key_env, environment)}"
    return sent


def hiding(options: RequestOptions, environment: Mapping[str, str]) -> Redact:
    """A function that removes a run's secrets, including truncated ones, from a text: a server may echo them."""
    telling = [
        value for value in _values(options, environment) if len(value) >= _TELLING_CHARACTERS
    ]

    def hide(text: str) -> str:
        for value in telling:
            text = _without(text, value)
        return text

    return hide


def hiding_in_errors(options: RequestOptions, environment: Mapping[str, str]) -> Redact:
    """Like `hiding`, but also removes short values that are whole words: an error is not graded."""
    hide = hiding(options, environment)
    short = [
        re.escape(value)
        for value in _values(options, environment)
        if len(value) < _TELLING_CHARACTERS
    ]
    known = re.compile("|".join(rf"(?<!\w){value}(?!\w)" for value in short) or r"(?!)")
    return lambda text: known.sub(REMOVED, hide(text))


def _without(text: str, value: str) -> str:
    """The text without a value or the beginning of one."""
    kept, end = [], 0
    while (start := text.find(value[:_TELLING_CHARACTERS], end)) >= 0:
        kept += [text[end:start], REMOVED]
        same = takewhile(lambda pair: pair[0] == pair[1], zip(text[start:], value, strict=False))
        end = start + sum(1 for _ in same)
    return "".join((*kept, text[end:]))


def _values(options: RequestOptions, environment: Mapping[str, str]) -> list[str]:
    """The secrets of a run, longest first, as one may contain another. For "Bearer KEY" also the key alone."""
    names = {*options.headers_env.values(), options.api_key_env} - {""}
    values = {environment.get(name, "").strip() for name in names}
    values = {*values, *(value.partition(" ")[2].strip() for value in values)} - {""}
    return sorted(values, key=len, reverse=True)


def _value(key: str, variable: str, environment: Mapping[str, str]) -> str:
    value = environment.get(variable, "").strip()
    # Somebody may have written the key itself instead of a name, so an unusual name is not repeated.
    named = f" {variable}" if _CONVENTIONAL_NAME.fullmatch(variable) else ""
    if not value:
        raise UsageError(
            msg(
                "{key} names an environment variable{named} that is not set, or is empty",
                key=key,
                named=named,
            )
        )
    if not _PLAIN.fullmatch(value):
        raise UsageError(
            msg(
                "{key}: the environment variable{named} has characters that a header cannot carry",
                key=key,
                named=named,
            )
        )
    return value
