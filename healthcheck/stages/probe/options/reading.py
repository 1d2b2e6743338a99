"""Options as the user writes them, in a TOML file or by `--set KEY=VALUE`; and the TOML file of a record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
from msgspec import inspect

from healthcheck.core.records import JsonValue
from healthcheck.errors import KitFailure, UsageError, reason_of
from healthcheck.stages.probe.options import values
from healthcheck.stages.probe.options.record import ProbeOptions, given
from healthcheck.stages.probe.options.values import SecretError, Takes
from healthcheck.system import toml_text
from healthcheck.system.files import read_text, write_atomically
from healthcheck.system.json_text import JsonError, load, plain
from healthcheck.system.toml_text import TomlError
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg

FILE = "configs/probe.toml"
"""The file of the options in a run folder."""
MAX_BYTES = 2**20
_HEAD = "# What was asked; for another run like this one: npu-adapter probe URL --config FILE\n"
_LARGEST = 2**63
_SURROGATE = re.compile("[\ud800-\udfff]")


def from_file(path: Path) -> ProbeOptions:
    """The options of a TOML file.

    Raises:
        UsageError: the file cannot be read or is not TOML, or has an unknown key or an invalid value.
    """
    text = read_text(path, MAX_BYTES)
    found = toml_text.load(text, str(path))
    return ProbeOptions(
        **{key: _said(key, _where(path, text, key), taken, found[key]) for key in found}
    )


def with_settings(asked: ProbeOptions, settings: Sequence[str]) -> ProbeOptions:
    """The options with the changes of `--set`, each KEY=VALUE; KEY.NAME=VALUE sets one value of a table.

    Text needs no quotes; quoted text is read as in TOML, including escapes.

    Raises:
        UsageError: a setting has no "=", an unknown key, or an invalid value.
    """
    said = given(asked)
    for setting in settings:
        key, equals, text = setting.partition("=")
        name, dot, inner = key.strip().partition(".")
        if not equals or not name:
            raise UsageError(
                msg("--set {setting} has no '=': write --set KEY=VALUE", setting=repr(setting))
            )
        where = f"--set {key.strip()}"
        if dot:
            value = {**said.get(name, {}), inner: _single(name, where, inner, text)}
            said[name] = _said(name, where, taken, value)
        else:
            quotation = _written(text) if text.startswith(('"', "'")) else text
            said[name] = _said(name, where, read, quotation if isinstance(quotation, str) else text)
    return ProbeOptions(**said)


def as_toml(asked: ProbeOptions) -> str:
    """A TOML file of these options, from which `from_file` reads the same options."""
    return "".join(f"{name} = {_literal(plain(value))}\n" for name, value in given(asked).items())


def keep(folder: Path, asked: ProbeOptions) -> None:
    """Write the options into a run folder, for another run like it.

    Raises:
        KitFailure: the file cannot be written.
    """
    try:
        write_atomically(folder / FILE, (_HEAD + as_toml(asked)).encode())
    except OSError as error:
        raise KitFailure(
            msg("cannot write {folder}: {reason}", folder=folder / FILE, reason=reason_of(error))
        ) from error


@cache
def takes() -> Mapping[str, Takes]:
    """The accepted values of each option."""
    found = {}
    names = {"values": values, **vars(values)}
    for name, annotation in get_type_hints(
        ProbeOptions, localns=names, include_extras=True
    ).items():
        shape, *_ = get_args(annotation)  # without None
        said = next(
            (each for each in getattr(shape, "__metadata__", ()) if isinstance(each, Takes)),
            Takes(),
        )
        found[name] = replace(
            said, words=said.words or _describe_option_type(shape), shape=said.shape or shape
        )
    return found


def taken(name: str, value: object) -> object:
    """The value of an option in the form of the record.

    Raises:
        ValueError: the value is invalid; the message says what is expected.
    """
    option = takes()[name]
    if not _portable(value):
        if isinstance(value, str):
            raise ValueError(msg("UTF-8 text"))
        if isinstance(value, dict) and _table(option):
            raise ValueError(
                msg(
                    "values that JSON and TOML both have: texts, finite numbers, true or false, lists and tables"
                )
            )
        raise ValueError(option.words)
    try:
        return option.fit(msgspec.convert(value, option.shape))
    except msgspec.ValidationError as error:
        raise ValueError(option.words) from error


def read(name: str, text: str) -> object:
    """Read the value of an option from a command line.

    Raises:
        ValueError: as for `taken`.
    """
    return taken(name, _meant(takes()[name].shape, text))


def _written(text: str) -> object:
    """A value in TOML or JSON, else the text itself."""
    try:
        found = toml_text.load(f"value = {text}", "value")
    except TomlError:
        found = {}
    if len(found) == 1:
        return found["value"]
    try:
        return load(text)
    except (JsonError, UnicodeEncodeError):
        return text


def quoted(value: object) -> str:
    """A value for a message, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:  # a date, which JSON does not have
        text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _said(name: str, where: str, take: Callable[[str, Any], object], value: object) -> Any:
    """The value of an option, or an error that shows the given value if it cannot be a secret.

    After the name of a secret, a colon would make the next word look like its value, which is redacted.
    """
    option = _known(name, where)
    try:
        return take(name, value)
    except SecretError as error:
        raise UsageError(msg("{where} is refused: {error}", where=where, error=error)) from error
    except ValueError as error:
        hidden = _table(option) or name == "api_key_env" or str(error).endswith("?")
        seen = "" if hidden else msg(", not {value}", value=quoted(value))
        raise UsageError(
            msg("{where}: expected {error}{value}", where=where, error=error, value=seen)
        ) from error


def _known(name: str, where: str) -> Takes:
    if name in takes():
        return takes()[name]
    if name.lower().replace("-", "_") in {"api_key", "apikey", "token", "key"}:
        raise UsageError(
            msg(
                "{where} is refused: a key does not belong into a file or a command line; put it into an "
                "environment variable, and name that with api_key_env",
                where=where,
            )
        )
    raise UsageError(
        msg(
            "{where}: there is no option {name:.80}{hint}",
            where=where,
            name=repr(name),
            hint=hint(name, takes()),
        )
    )


def _single(name: str, where: str, inner: str, text: str) -> object:
    """One value of a table."""
    option = _known(name, where)
    table = _table(option)
    if not table or not inner:
        raise UsageError(
            msg(
                "{where}: {name} is {words}, without names in it",
                where=where,
                name=name,
                words=option.words,
            )
        )
    return text if isinstance(table.value_type, inspect.StrType) else _written(text)


def _table(option: Takes) -> inspect.DictType | None:
    """The type of the option's values, if they are tables."""
    kind = inspect.type_info(option.shape)
    return kind if isinstance(kind, inspect.DictType) else None


def _describe_option_type(shape: object) -> str:
    """The values that an option of this type accepts, in words."""
    match inspect.type_info(shape):
        case inspect.BoolType():
            return msg("true or false")
        case inspect.IntType(ge=None):
            return msg("a whole number{range}", range="")
        case inspect.IntType(ge=low, le=None):
            return msg("a whole number{range}", range=msg(", at least {low}", low=low))
        case inspect.IntType(ge=low, le=high):
            return msg(
                "a whole number{range}", range=msg(" from {low} to {high}", low=low, high=high)
            )
        case inspect.FloatType(ge=low, le=high):
            return msg("a number{range}", range=msg(" from {low} to {high}", low=low, high=high))
        case _:
            return msg("a text")


def _meant(shape: object, text: str) -> object:
    """Convert text of a command line to the values of a type."""
    kind = inspect.type_info(shape)
    try:
        if isinstance(kind, (inspect.IntType, inspect.FloatType)):
            return int(text) if isinstance(kind, inspect.IntType) else float(text)
        if isinstance(kind, inspect.TupleType):
            return [float(part) for part in text.strip("[]").split(",")]
    except ValueError:
        return text
    found = text if isinstance(kind, inspect.StrType) else _written(text)
    return text if isinstance(kind, inspect.UnionType) and not isinstance(found, list) else found


def _portable(value: object, deepest: int = 20) -> bool:
    """Whether JSON and TOML both have the value, and all readers agree on it."""
    if isinstance(value, (dict, list)):
        inner = value.values() if isinstance(value, dict) else value
        return deepest > 0 and all(_portable(item, deepest - 1) for item in inner)
    if isinstance(value, str):
        return not _SURROGATE.search(value)
    return isinstance(value, (int, float)) and abs(value) < _LARGEST


def _where(path: Path, text: str, name: str) -> str:
    """The file, the line of a key if it is known, and the key."""
    key = re.compile(rf"""[ \t]*(?:\[\[?[ \t]*)?["']?{re.escape(name)}["']?[ \t]*[=.\]]""")
    lines = (number for number, line in enumerate(text.split("\n"), 1) if key.match(line))
    line = next(lines, 0)
    return f"{path}:{line}: {name}" if line else f"{path}: {name}"


def _literal(value: JsonValue) -> str:
    if isinstance(value, dict):
        pairs = (
            f"{_literal(name)} = {_literal(item)}"
            for name, item in value.items()
            if item is not None
        )
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
