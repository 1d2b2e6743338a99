"""What single options must not be, beyond their kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from healthcheck.messages import msg
from healthcheck.nearest import hint
from healthcheck.probe.options.kinds import Names, Text, Whole, written
from healthcheck.probe.records import COLUMNS, DataSet
from healthcheck.records import JsonValue

_OWN_FIELDS = {
    "messages": msg("prompt or system"),
    "model": "model",
    "stream": "",
    "stream_options": "",
    "n": msg("samples"),
    "num_return_sequences": msg("samples"),
    "temperature": "temperature",
    "max_tokens": "max_tokens",
    "max_completion_tokens": "max_tokens",
    "logprobs": "logprobs",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop",
    "seed": "request_seed",
    "chat_template_kwargs": "chat_template_kwargs",
}
"""Fields of the body that the kit sets, each with the option for it."""
_OF_A_DATA_SET = ("file", "problems", "columns")
_OWN_HEADERS = frozenset(
    [
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
_SECRET_HEADER = re.compile(
    r"(?i)(?:.*[-_])?(?:authorization|auth|cookie|credentials?|key|passw(?:or)?d|secret|token)"
)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VALUE = re.compile(r"[\t -~]*")


class SecretError(ValueError):
    """A value that looks like a secret, where the run folder would keep it. Quotes no value."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A share above 0 and below 1, or the path of a run folder. Kept as text."""

    words: str = msg("an accuracy between 0 and 1, or the folder of a run")

    def taken(self, value: object) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
            raise ValueError(self.words)
        return str(value)

    def read(self, text: str) -> str:
        return self.taken(text)


@dataclass(frozen=True, slots=True)
class DataSets:
    """Tables, each with a file, and maybe how many problems and which columns it has."""

    words: str = msg("a list of tables, each with file, and maybe problems and columns")

    def taken(self, value: object) -> tuple[DataSet, ...]:
        if not isinstance(value, list) or not value:
            raise ValueError(self.words)
        return tuple(map(self._one, value))

    def read(self, text: str) -> tuple[DataSet, ...]:
        return self.taken(written(text))

    def _one(self, value: object) -> DataSet:
        if not isinstance(value, dict) or not {"file"} <= value.keys():
            raise ValueError(self.words)
        unknown = next((name for name in value if name not in _OF_A_DATA_SET), "")
        if unknown:
            raise ValueError(
                msg(
                    "{words}, and {unknown:.80} is none of these{hint}",
                    self.words,
                    repr(unknown),
                    hint(unknown, _OF_A_DATA_SET),
                )
            )
        problems = Whole(1).taken(value["problems"]) if "problems" in value else None
        columns = Names("columns of texts", refuse_columns).taken(value.get("columns", {}))
        return DataSet(file=Text("a file's path").taken(value["file"]), problems=problems, columns=columns)


def refuse_columns(names: Mapping[str, str]) -> None:
    """Refuse columns that the kit does not know.

    Raises:
        ValueError: there is such a name.
    """
    for name in names:
        if name not in COLUMNS:
            near = hint(name, COLUMNS)
            raise ValueError(
                msg(
                    "columns that the kit knows ({columns}), and {name:.80} is none{near}",
                    ", ".join(COLUMNS),
                    repr(name),
                    near,
                )
            )


def refuse_own_fields(extra: Mapping[str, JsonValue]) -> None:
    """Refuse what another option sets, and secrets, which the run folder would keep.

    Raises:
        ValueError: there is such a field.
        SecretError: one looks like a secret.
    """
    for name in extra:
        if name in _OWN_FIELDS:
            instead = (
                msg("use the option {own_fields}", _OWN_FIELDS[name])
                if _OWN_FIELDS[name]
                else msg("the kit needs its own value")
            )
            raise ValueError(msg("further fields, and {name} is none of them: {instead}", name, instead))
    for name, value in extra.items():
        if _looks_secret(name, value):
            raise SecretError(
                msg(
                    "{name:.80} looks like a secret, and the run folder keeps further fields; a key that the "
                    "server wants goes into an environment variable, which api_key_env or headers_env names",
                    repr(name),
                )
            )


def refuse_header_names(headers: Mapping[str, str]) -> None:
    """Refuse names that HTTP does not have, and those that the client sets.

    Raises:
        ValueError: there is such a name.
    """
    for name in headers:
        if not _HEADER.fullmatch(name):
            raise ValueError(msg("names of headers, and {name:.80} is none", repr(name)))
        if name.lower() in _OWN_HEADERS:
            raise ValueError(
                msg("headers that the HTTP client does not set itself, and {name} is one of those", name)
            )


def refuse_headers(headers: Mapping[str, str]) -> None:
    """Refuse what `refuse_header_names` does, and secrets.

    Raises:
        ValueError: there is such a header; no value is quoted.
        SecretError: one looks like a secret.
    """
    refuse_header_names(headers)
    for name, value in headers.items():
        if not _VALUE.fullmatch(value):
            raise ValueError(msg("headers of ASCII without line ends, and {name} has other characters", name))
        if _SECRET_HEADER.fullmatch(name) or _looks_secret(name, value):
            raise SecretError(
                msg(
                    "{name} looks like a secret, and the run folder keeps headers; put its value into an "
                    "environment variable, and name that with headers_env (or api_key_env)",
                    name,
                )
            )


def _looks_secret(name: str, value: JsonValue) -> bool:
    from healthcheck.redact import redacted, without_secrets  # noqa: PLC0415 - --help reads no value

    return redacted({name: value}, without_secrets) != {name: value}


def are_rates(numbers: Sequence[float]) -> bool:
    """Whether these are a false negative and a false positive rate."""
    return min(numbers) >= 0 and sum(numbers) < 1


def is_gate(numbers: Sequence[float]) -> bool:
    """Whether these are a gate's bad and good distance and its error."""
    bad, good, error = numbers
    return 0 <= good < bad < 1 and 0 < error < 0.5
