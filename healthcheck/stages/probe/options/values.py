"""The values of the options: types for msgspec, and further constraints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from healthcheck.core.records import JsonValue
from healthcheck.stages.probe.records import COLUMNS, QUESTION, DataSet
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg
from healthcheck.text.redact import redacted, says_secret, without_secrets

_OWN_FIELDS = {
    **{name: name for name in ("temperature", "max_tokens", "logprobs", "top_p", "top_k", "stop", "model")},
    "messages": msg("prompt or system"), "n": msg("samples"), "num_return_sequences": msg("samples"),
    "max_completion_tokens": "max_tokens", "seed": "request_seed", "chat_template_kwargs": "chat_template_kwargs",
    "stream": "", "stream_options": "",
}  # fmt: skip
"""Fields of the body that the kit sets, with their options."""
_OWN_HEADERS = {
    "accept", "accept-encoding", "connection", "content-length", "content-type", "expect", "host", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t -~]*")
_OF_DATA_SETS = msg(
    "a list of tables, each with file (a path), and maybe problems (a whole number, at least 1) and columns (a "
    "table of texts)"
)


class SecretError(ValueError):
    """A value that looks like a secret, which the run folder would store. Quotes no value."""


@dataclass(frozen=True, slots=True)
class Takes:
    """The additions of an annotation to the type.

    Attributes:
        words: the values in words; "" for those of the type.
        fit: converts a value to the form of the record. It raises a ValueError that says what is expected, or
            msgspec's ValidationError if `words` say it.
        shape: the type that the user writes, if the record has another.
    """

    words: str = ""
    fit: Callable[[Any], object] = lambda value: value
    shape: Any = None


def _columns(names: Mapping[str, str]) -> Mapping[str, str]:
    """Names of columns that the kit knows."""
    for name in names:
        if name not in COLUMNS:
            near = hint(name, COLUMNS)
            raise ValueError(
                msg(
                    "columns that the kit knows ({columns}), and {name:.80} is none{near}",
                    columns=", ".join(COLUMNS),
                    name=repr(name),
                    near=near,
                )
            )
    return names


def _data_sets(tables: Sequence[Mapping[str, object]]) -> tuple[DataSet, ...]:
    known = _DataSet.__struct_fields__
    for unknown in (name for table in tables for name in table if name not in known):
        near = hint(unknown, known)
        raise ValueError(
            msg(
                "{words}, and {unknown:.80} is none of these{hint}",
                words=_OF_DATA_SETS,
                unknown=repr(unknown),
                hint=near,
            )
        )
    found = msgspec.convert(tables, list[_DataSet])
    return tuple(
        DataSet(file=each.file, problems=each.problems, columns=_columns(each.columns))
        for each in found
    )


def _further_fields(extra: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Fields that no other option sets; no secrets, since the run folder would store them."""
    for name in extra:
        if name in _OWN_FIELDS:
            own = _OWN_FIELDS[name]
            instead = (
                msg("use the option {own_fields}", own_fields=own)
                if own
                else msg("the kit needs its own value")
            )
            raise ValueError(
                msg(
                    "further fields, and {name} is none of them: {instead}",
                    name=name,
                    instead=instead,
                )
            )
    for name, value in extra.items():
        if _looks_secret(name, value):
            said = msg(
                "{name:.80} looks like a secret, and the run folder keeps further fields; a key that the "
                "server wants goes into an environment variable, which api_key_env or headers_env names",
                name=repr(name),
            )
            raise SecretError(said)
    return extra


def _headers_env(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Header names that are valid in HTTP and that the client does not set."""
    for name in headers:
        if not _HEADER.fullmatch(name):
            raise ValueError(msg("names of headers, and {name:.80} is none", name=repr(name)))
        if name.lower() in _OWN_HEADERS:
            raise ValueError(
                msg(
                    "headers that the HTTP client does not set itself, and {name} is one of those",
                    name=name,
                )
            )
    return headers


def _headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Such names with values that are valid in HTTP; no secrets."""
    for name, value in _headers_env(headers).items():
        if not _VALUE.fullmatch(value):
            raise ValueError(
                msg(
                    "headers of ASCII without line ends, and {name} has other characters", name=name
                )
            )
        if says_secret(f"x-{name}") or _looks_secret(name, value):
            said = msg(
                "{name} looks like a secret, and the run folder keeps headers; put its value into an "
                "environment variable, and name that with headers_env (or api_key_env)",
                name=name,
            )
            raise SecretError(said)
    return headers


def _looks_secret(name: str, value: JsonValue) -> bool:
    return redacted({name: value}, without_secrets) != {name: value}


def _gate(numbers: tuple[float, float, float]) -> tuple[float, float, float]:
    """A gate's bad and good distances and its error."""
    bad, good, error = numbers
    if not (0 <= good < bad < 1 and 0 < error < 0.5):
        raise msgspec.ValidationError
    return numbers


def _points(value: float | str) -> float:
    """Fractions are refused: 0.5 could be half a point."""
    number = float(value.strip().removesuffix("%")) if isinstance(value, str) else value
    if not 1 <= number <= 99:
        raise msgspec.ValidationError
    return number


Text = Annotated[str, Meta(pattern=r"\S")]
Word = Annotated[str, Meta(min_length=1)]
Words = Annotated[tuple[Word, ...], Meta(min_length=1)]
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0), Takes(msg("a number above 0"))]
TopP = Annotated[float, Meta(gt=0, le=1), Takes(msg("a number above 0, at most 1"))]
Percent = Annotated[str, Meta(pattern=r"^\s*[+]?\d+(\.\d*)?\s*%?\s*$")]
Points = Annotated[
    float, Takes(msg("points of accuracy from 1 to 99, such as 5 or 5%"), _points, float | Percent)
]
Reference = Annotated[
    str, Takes(msg("an accuracy between 0 and 1, or the folder of a run"), str, int | float | Text)
]
Texts = Annotated[
    tuple[str, ...],
    Takes(
        msg("a text or a list of texts"),
        lambda said: (said,) if isinstance(said, str) else said,
        Word | Words,
    ),
]
Prompt = Annotated[
    str,
    Meta(pattern=re.escape(QUESTION)),
    Takes(msg("a text with {question} in it", question=QUESTION)),
]
Variable = Annotated[str, Meta(pattern=r"\S"), Takes(msg("the name of an environment variable"))]
Gate = Annotated[
    tuple[float, float, float],
    Takes(msg("three numbers such as .30,.05,.01: 0 <= GOOD < BAD < 1, 0 < ERROR < .5"), _gate),
]
Table = Annotated[Mapping[str, Any], Takes(msg("a table"))]
FurtherFields = Annotated[
    Mapping[str, Any], Takes(msg("a table of further fields"), _further_fields)
]
Headers = Annotated[Mapping[str, Word], Takes(msg("a table of headers"), _headers)]
HeadersEnv = Annotated[Mapping[str, Word], Takes(msg("a table of headers"), _headers_env)]
Columns = Annotated[
    Mapping[str, Word],
    Takes(
        msg("a table from {names} and so on to columns of the file", names=", ".join(COLUMNS[:2])),
        _columns,
    ),
]
DataSets = Annotated[
    tuple[DataSet, ...],
    Takes(_OF_DATA_SETS, _data_sets, Annotated[list[dict[str, Any]], Meta(min_length=1)]),
]


class _DataSet(msgspec.Struct):
    file: Text
    problems: Count | None = None
    columns: dict[str, Word] = {}
