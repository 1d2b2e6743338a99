"""Asks a release which values its environment variables accept, and adds them to its catalogue.

    PYTHON scripts/make_variable_catalogue.py ENVS.py healthcheck/data/vllm-0.23.0.json
    PYTHON scripts/make_variable_catalogue.py ENVS.py

ENVS.py is vllm/envs.py or vllm_ascend/envs.py of an unpacked release: a table of functions, one for
each variable. It is executed, and each function runs with values of every kind; a value for which
it raises an error is refused. Without a catalogue, the answers are printed.
scripts/make_flag_catalogue.py asks for new catalogues by itself.

What the functions import should be there: torch, and the release on PYTHONPATH. A function that
fails without a value is reported, and nothing is known about its variable.
"""
# ruff: noqa: INP001 - a script, no package

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType

Entry = dict[str, object]
Getter = Callable[[], object]
TABLES = ("environment_variables", "env_variables")
"""The names of the table in vLLM and in vllm-ascend."""
NO_CHOICE = "no-such-value"
FILE = "file"
VALUES: dict[str, tuple[str, ...]] = {
    "empty": ("",),
    "bit": ("0", "1"),
    "int": ("2", "16", "4096"),
    "negative": ("-1",),
    "float": ("0.5", "1.5"),
    "truth": ("true", "false", "True", "False"),
    "json": ('{"a": 1}', "[1]", "{}"),
    "text": (NO_CHOICE,),
}
"""Values by kind. A kind is refused where each of its values is."""
LEVELS = 4
"""How deep functions that are made by functions are looked into for the words that they accept."""


def main() -> None:
    found = variables(load(Path(sys.argv[1])))
    if len(sys.argv) < 3:
        print(json.dumps(found))
        return
    path = Path(sys.argv[2])
    document = json.loads(path.read_bytes())
    path.write_text(text({**document, "variables": found}), encoding="utf-8")
    refusing = sum(map(bool, found.values()))
    print(f"{path}: {len(found)} variables, {refusing} of which refuse something")


def text(document: Mapping[str, object]) -> str:
    """The text of a catalogue, with one line for each variable and option."""
    rest = {name: value for name, value in document.items() if name not in {"variables", "options"}}
    variables_: Mapping[str, Entry] = document["variables"]  # type: ignore[assignment]
    options: list[Entry] = document["options"]  # type: ignore[assignment]
    pairs = ((json.dumps(name), json.dumps(entry)) for name, entry in variables_.items())
    lines = ",\n".join(f"  {name}: {entry}" for name, entry in pairs)
    rows = ",\n".join(f"  {json.dumps(option)}" for option in options)
    head = json.dumps(rest, indent=1).removesuffix("\n}")
    return f'{head},\n "variables": {{\n{lines}\n }},\n "options": [\n{rows}\n ]\n}}\n'


def load(path: Path) -> Mapping[str, Getter]:
    """The table of a release's envs.py, which is executed apart from its package."""
    spec = importlib.util.spec_from_file_location("envs", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules["envs"] = module
    spec.loader.exec_module(module)
    tables = (getattr(module, name, None) for name in TABLES)
    return next(table for table in tables if table is not None)


def variables(table: Mapping[str, Getter]) -> dict[str, Entry]:
    """What each variable of a table accepts, by name; nothing where it accepts every value."""
    warnings.simplefilter("ignore")
    logging.disable()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "a.json")
        file.write_text("{}", encoding="utf-8")
        return {name: _asked(name, table[name], str(file)) for name in sorted(table)}


def _asked(name: str, getter: Getter, file: str) -> Entry:
    if error := _error(getter, name, None):
        print(f"no answer for {name}: {error}", file=sys.stderr)
        return {}
    values = {**VALUES, FILE: (file,)}
    takes = [kind for kind, some in values.items() if _is_taken(getter, name, some)]
    if "text" in takes and len(takes) == len(values):
        return {}
    if "text" in takes:
        return {"takes": takes}
    asked = {name, *(value for some in VALUES.values() for value in some)}
    words = (word for word in dict.fromkeys(_words(getter, LEVELS)) if word not in asked)
    single = (word for word in words if "," not in word and not _is_number(word))
    choices = [word for word in single if not _error(getter, name, word)]
    entry: Entry = {"takes": takes, "choices": choices}
    other_case = [word.swapcase() for word in choices if word.swapcase() not in choices]
    if other_case and not any(_error(getter, name, word) for word in other_case):
        entry["any_case"] = True
    if len(choices) > 1 and not _error(getter, name, ",".join(choices[:2])):
        entry["many"] = True
    return {key: value for key, value in entry.items() if value}


def _is_taken(getter: Getter, name: str, values: Iterable[str]) -> bool:
    """Whether a release reads any of these values."""
    return any(not _error(getter, name, value) for value in values)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _error(getter: Getter, name: str, value: str | None) -> str:
    """Why a release does not read a value (None: the variable is not set); "" if it does."""
    with _environment(name, value):
        try:
            getter()
        except Exception as error:  # noqa: BLE001 - whatever a release raises is an answer
            return f"{type(error).__name__}: {error}"
    return ""


@contextmanager
def _environment(name: str, value: str | None) -> Iterator[None]:
    """An environment of the variable alone, and what every program has."""
    before = dict(os.environ)
    usual = {key: before[key] for key in ("HOME", "PATH", "PYTHONPATH", "TMPDIR") if key in before}
    os.environ.clear()
    os.environ.update(usual if value is None else {**usual, name: value})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _words(getter: object, levels: int) -> Iterator[str]:
    """The words in a function and in the functions and lists that it was made with."""
    if isinstance(getter, str):
        yield getter
    elif isinstance(getter, (list, tuple, set, frozenset)):
        for each in getter:
            yield from _words(each, levels)
    elif isinstance(getter, FunctionType) and levels:
        cells = zip(getter.__code__.co_freevars, getter.__closure__ or (), strict=True)
        for name, cell in cells:
            content = cell.cell_contents
            if name == "choices" and callable(content):
                content = _made_later(content)
            yield from _words(content, levels - 1)
        yield from _words(getter.__code__.co_consts, levels - 1)
        yield from _words(getter.__defaults__ or (), levels - 1)


def _made_later(choices: Getter) -> object:
    """Choices that a release imports only when it needs them; none if it cannot."""
    try:
        return choices()
    except Exception as error:  # noqa: BLE001 - whatever a release raises is an answer
        print(f"no choices: {error}", file=sys.stderr)
        return ()


if __name__ == "__main__":
    main()
