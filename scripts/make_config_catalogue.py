# ruff: noqa: INP001 - a folder of programs, no package
"""Reads the keys that a release takes in --additional-config, for healthcheck/data/additional-config.json.

The folder is an unpacked wheel or sdist of vllm-ascend; scripts/add_release.py writes the catalogue. Nothing is
imported. Newer releases declare the keys as fields of AscendConfig (a pydantic class) and of the classes of its
fields. Older ones read them from a dictionary, in any module: then each text that is looked up in it is a key.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

SOURCE = (
    "AscendConfig and the classes of its fields, vllm_ascend/ascend_config.py of each release, and every look-up "
    "in additional_config; written by scripts/make_config_catalogue.py"
)
CONFIG, OPTION = "AscendConfig", "additional_config"
NOT_OF_USERS = "_NON_USER_INPUT_KEYS"
"""Keys that init_ascend_config takes out before the class sees them: it accepts them all the same."""
UNKNOWN = re.compile(r"^Config has no attribute|^Unknown .*keys")
KEYWORD = "__init__() got an unexpected keyword argument"
_LOOKS_UP = {"get", "setdefault", "pop"}
_BY_NAME = re.compile(r"_get_config_value$|^_resolve$")


def row(version: str, folder: Path) -> dict[str, object]:
    """The row of one release; without groups, if it does not read the option.

    Raises:
        SyntaxError: one of its files is not Python.
    """
    package = folder / "vllm_ascend"
    own = ast.parse(
        (package / "ascend_config.py").read_bytes()
        if (package / "ascend_config.py").is_file()
        else b""
    )
    classes = {node.name: node for node in own.body if isinstance(node, ast.ClassDef)}
    groups: Iterable[Group] = ()
    if CONFIG in classes and classes[CONFIG].decorator_list:
        groups = _declared(classes, own)
    elif CONFIG in classes:
        groups = _looked_up(
            classes, [ast.parse(path.read_bytes()) for path in sorted(package.rglob("*.py"))]
        )
    found = [(path, keys, refusal) for path, keys, refusal in groups if keys]
    return {
        "vllm_ascend": version,
        "groups": {path: sorted(keys) for path, keys, _ in found},
        "refusals": {path: refusal for path, _, refusal in found if refusal},
        "endings": sorted(set(_endings(own))),
    }


Group = tuple[str, set[str], str]
"""The dotted path of an object in the option ("" for the whole), its keys, and what the release says of others."""


def _declared(classes: Mapping[str, ast.ClassDef], own: ast.Module) -> Iterator[Group]:
    text = re.sub(r"`+", "", ast.get_docstring(classes[CONFIG]) or "")
    said = re.search(r"Unknown keys are rejected[^\n]*", text)
    refusal = said[0] if said else 'extra="forbid"'
    taken_out = (
        element.value
        for node in ast.walk(own)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == NOT_OF_USERS
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant)
    )
    yield (
        "",
        {str(key) for key in taken_out if not str(key).startswith("_")} | _fields(classes[CONFIG]),
        refusal,
    )
    yield from ((path, _fields(node), "") for path, node in _nested(classes, CONFIG))


def _fields(node: ast.ClassDef) -> set[str]:
    """The fields of a dataclass that its caller may give."""
    declared = (
        part
        for part in node.body
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name)
    )
    return {
        part.target.id  # type: ignore[union-attr]
        for part in declared
        if "ClassVar" not in ast.unparse(part.annotation)
        and "init=False" not in (ast.unparse(part.value) if part.value else "")
    }


def _nested(
    classes: Mapping[str, ast.ClassDef], name: str, path: str = ""
) -> Iterator[tuple[str, ast.ClassDef]]:
    """The classes of the fields of a class, by path: eplb_config has EplbConfig."""
    by_key = {each.lower(): each for each in classes if each not in {CONFIG, name}}
    for key in sorted(_fields(classes[name])):
        found = by_key.get(key.replace("_", ""))
        if found:
            yield f"{path}{key}", classes[found]
            yield from _nested(classes, found, f"{path}{key}.")


def _looked_up(classes: Mapping[str, ast.ClassDef], trees: Iterable[ast.Module]) -> Iterator[Group]:
    by_holder = defaultdict[str, set[str]](set)
    for tree in trees:
        for holder, key in _look_ups(tree):
            by_holder[holder].add(key)
    for call in (node for node in ast.walk(classes[CONFIG]) if isinstance(node, ast.Call)):
        by_holder[OPTION] |= set(_asked_by_name(call))
    yield "", by_holder[OPTION] | {key for holder in _moved(classes) for key in holder}, ""
    top = {key.replace("_", ""): key for key in by_holder[OPTION]}
    for name, node in classes.items():
        if name.lower() in top:
            yield from _of_class(classes, node, top[name.lower()], by_holder)


def _moved(classes: Mapping[str, ast.ClassDef]) -> Iterator[set[str]]:
    """The keys of SchedulerConfig, which are read from the whole option as well."""
    scheduler = classes.get("SchedulerConfig")
    yield (
        {key for node in ast.walk(scheduler) for key in _asked_by_name(node)}
        if scheduler
        else set()
    )


def _of_class(
    classes: Mapping[str, ast.ClassDef],
    node: ast.ClassDef,
    path: str,
    by_holder: Mapping[str, set[str]],
) -> Iterator[Group]:
    if "setattr(" in ast.unparse(node):
        return  # takes any key
    starts = next(
        part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"
    )
    keys = {key for holder, key in _look_ups(node) if holder != OPTION} | by_holder.get(
        path.rpartition(".")[2], set()
    )
    keys |= {key for part in ast.walk(node) for key in _asked_by_name(part)}
    for part in node.body:
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "_defaults":
            keys |= set(ast.literal_eval(part.value))
    named = [
        each.arg
        for each in starts.args.args[1:]
        if each.annotation and ast.unparse(each.annotation) in {"bool", "int", "float", "str"}
    ]
    keys |= set(named)
    said = next((text for text in _endings(node) if UNKNOWN.search(text)), "")
    yield path, keys, said or (KEYWORD if named and not starts.args.kwarg else "")
    for other in classes.values():
        key = next(
            (
                key
                for key in keys
                if key.replace("_", "") == other.name.lower() and other is not node
            ),
            "",
        )
        if key:
            yield from _of_class(classes, other, f"{path}.{key}", by_holder)


def _look_ups(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Every text that is looked up, after the last name of its mapping: additional_config, eplb_config."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _LOOKS_UP
            and node.args
        ):
            yield from _texts(node.func.value, node.args[0])
        elif isinstance(node, ast.Subscript):
            yield from _texts(node.value, node.slice)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            yield from _texts(node.comparators[0], node.left)


def _texts(holder: ast.expr, key: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        yield _last_name(holder), key.value


def _last_name(node: ast.expr) -> str:
    """The name of a mapping; that of a key, for what is looked up under it."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        node = node.args[0]
    if isinstance(node, ast.Subscript):
        node = node.slice
    if isinstance(node, ast.BoolOp):
        node = node.values[0]
    if isinstance(node, ast.Constant):
        return str(node.value)
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def _asked_by_name(node: ast.AST) -> Iterator[str]:
    """The key in `self._get_config_value(config, "key", …)`."""
    if isinstance(node, ast.Call) and _BY_NAME.search(ast.unparse(node.func)):
        texts = (
            each.value
            for each in node.args
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )
        yield from list(texts)[:1]


def _endings(tree: ast.AST) -> Iterator[str]:
    """What a release says when it ends over the option: the texts of `raise` and `assert`, … for values in them."""
    for node in ast.walk(tree):
        said = node.msg if isinstance(node, ast.Assert) else None
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            said = node.exc.args[0]
        if isinstance(said, ast.Constant) and isinstance(said.value, str):
            yield said.value
        elif isinstance(said, ast.JoinedStr):
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in said.values
            )


def catalogue(known: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The catalogue with rows added, newest release first; a row replaces a known row of its release.

    A rule (written by hand) has a sentence of a release's source; its releases are those that have the sentence.
    """
    by_release = {row["vllm_ascend"]: {**row} for row in [*known["releases"], *rows]}
    endings = {release: set(row.pop("endings", ())) for release, row in by_release.items()}
    read = {row["vllm_ascend"] for row in rows}
    rules = [
        {
            **rule,
            "releases": _newest_first(
                (set(rule["releases"]) - read)
                | {release for release in read if rule["sentence"] in endings[release]}
            ),
        }
        for rule in known["rules"]
    ]
    return {
        "source": SOURCE,
        "rules": rules,
        "releases": [by_release[each] for each in _newest_first(by_release)],
    }


def _newest_first(releases: Iterable[str]) -> list[str]:
    return sorted(releases, key=Version, reverse=True)


def text(catalogue: Mapping[str, Any]) -> str:
    """The text of additional-config.json, with one rule and one release a line."""
    parts = [f' "source": {json.dumps(catalogue["source"])}']
    for name in ("rules", "releases"):
        lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in catalogue[name])
        parts.append(f' "{name}": [\n{lines}\n ]')
    return "{\n" + ",\n".join(parts) + "\n}\n"
