"""Options as people write them: a TOML file, `--set KEY=VALUE`; and a file that says the same as a record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from healthcheck import toml_text
from healthcheck.errors import KitFailure, UsageError, reason_of
from healthcheck.files import read_bounded, write_atomically
from healthcheck.messages import msg
from healthcheck.nearest import hint
from healthcheck.probe.options.kinds import Names, Table, quoted, written
from healthcheck.probe.options.limits import SecretError
from healthcheck.probe.options.record import Option, ProbeOptions, given, options
from healthcheck.probe.records import DataSet

FILE = "configs/probe.toml"
"""Where a run folder has what was asked."""
MAX_BYTES = 2**20
_HEAD = "# What was asked; for another run like this one: npu-adapter probe URL --config FILE\n"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def from_file(path: Path) -> ProbeOptions:
    """The options of a TOML file.

    Raises:
        UsageError: it cannot be read, is not TOML, has an unknown key, or a value that its option does not take.
    """
    try:
        text = read_bounded(path, MAX_BYTES).decode("utf-8-sig")
        found = toml_text.load(text, str(path))
    except UnicodeDecodeError as error:
        raise UsageError(
            msg("{path} is not UTF-8 text ({reason} at byte {start})", path, error.reason, error.start)
        ) from error
    return _record((name, _where(path, text, name), value) for name, value in found.items())


def with_settings(asked: ProbeOptions, settings: Sequence[str]) -> ProbeOptions:
    """The options with what `--set` says, each KEY=VALUE; KEY.NAME=VALUE sets one value of a table.

    A text needs no quotes; in quotes it is read as TOML reads it, escapes too.

    Raises:
        UsageError: one has no "=", an unknown key, or a value that its option does not take.
    """
    known = {option.name: option for option in options()}
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        name, dot, inner = key.strip().partition(".")
        if not equals or not name:
            raise UsageError(msg("--set {setting} has no '=': write --set KEY=VALUE", repr(setting)))
        where = f"--set {key.strip()}"
        option = known.get(name) or _unknown(where, name)
        if dot:
            before = values.get(name, getattr(asked, name)) or {}
            if not isinstance(option.kind, (Table, Names)) or not isinstance(before, Mapping) or not inner:
                raise UsageError(
                    msg("{where}: {name} is {words}, without names in it", where, name, option.kind.words)
                )
            single = text if isinstance(option.kind, Names) else written(text)
            values[name] = _taken(option, where, {**before, inner: single})
        else:
            values[name] = _read(option, where, text)
    return ProbeOptions(**{**given(asked), **values})


def as_toml(asked: ProbeOptions) -> str:
    """A TOML file with these options: `from_file` reads the same from it."""
    return "".join(f"{name} = {_literal(value)}\n" for name, value in given(asked).items())


def keep(folder: Path, asked: ProbeOptions) -> None:
    """Write the options into a run folder, for another run like it.

    Raises:
        KitFailure: the disk does not take it.
    """
    try:
        write_atomically(folder / FILE, (_HEAD + as_toml(asked)).encode())
    except OSError as error:
        raise KitFailure(msg("cannot write {folder}: {reason}", folder / FILE, reason_of(error))) from error


def _record(found: Iterable[tuple[str, str, object]]) -> ProbeOptions:
    known = {option.name: option for option in options()}
    values: dict[str, Any] = {}
    for name, where, value in found:
        option = known.get(name) or _unknown(where, name)
        values[name] = _taken(option, where, value)
    return ProbeOptions(**values)


def _unknown(where: str, name: str) -> Option:
    names = [option.name for option in options()]
    if name.lower().replace("-", "_") in {"api_key", "apikey", "token", "key"}:
        raise UsageError(
            msg(
                "{where} is refused: a key does not belong into a file or a command line; put it into an "
                "environment variable, and name that with api_key_env",
                where,
            )
        )
    raise UsageError(msg("{where}: there is no option {name:.80}{hint}", where, repr(name), hint(name, names)))


def _taken(option: Option, where: str, value: object) -> object:
    try:
        _encodable(value)
        return option.kind.taken(value)
    except ValueError as error:
        raise _refused(option, where, value, error) from error


def _read(option: Option, where: str, text: str) -> object:
    if text.startswith(('"', "'")) and isinstance(quotation := written(text), str):
        text = quotation
    try:
        _encodable(text)
        return option.kind.read(text)
    except ValueError as error:
        raise _refused(option, where, text, error) from error


def _refused(option: Option, where: str, value: object, error: ValueError) -> UsageError:
    """What is wrong, with the given value if it cannot be a secret.

    A colon behind the name of a secret would have the next word taken for its value, and removed.
    """
    if isinstance(error, SecretError):
        return UsageError(msg("{where} is refused: {error}", where, error))
    private = isinstance(option.kind, (Names, Table)) or option.name == "api_key_env"
    told = str(error).endswith("?")
    return UsageError(
        msg(
            "{where}: expected {error}{value}",
            where,
            error,
            "" if private or told else msg(", not {value}", quoted(value)),
        )
    )


def _encodable(value: object) -> None:
    """Refuse a word of a command line that is not UTF-8: no file can hold it."""
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(msg("UTF-8 text")) from error


def _where(path: Path, text: str, name: str) -> str:
    """The file, the line of a key if it is known, and the key."""
    key = re.compile(rf"""[ \t]*(?:\[\[?[ \t]*)?["']?{re.escape(name)}["']?[ \t]*[=.\]]""")
    lines = (number for number, line in enumerate(text.split("\n"), 1) if key.match(line))
    line = next(lines, 0)
    return f"{path}:{line}: {name}" if line else f"{path}: {name}"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(str(name))} = {_literal(item)}' for name, item in value.items())}}}"
    if isinstance(value, DataSet):
        table = {"file": value.file, "problems": value.problems, "columns": value.columns}
        return _literal({name: item for name, item in table.items() if item})
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    return json.dumps(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _CONTROL.sub(_escape, escaped) + '"'


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
