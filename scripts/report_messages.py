# ruff: noqa: INP001 - scripts are no package
"""The messages of a report, read from the sources: findings, reasons of skips, verdicts, labels of the pages.

A message is a string or f-string that reaches a finding: as an argument of `fail`, `warn`, `unsettled`, `note` or
`NotApplicable`, through a variable, a constant, a helper's return value or a field of a record that is named below.
In the renderers it is every string of prose, and in their templates every text between tags. `{}` stands for a
value and `{s}` for an English ending.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from package_index import ROOT, Index, called_name

from healthcheck.report import words
from healthcheck.report.labels import LABELS, NUMBERED
from healthcheck.report.page import said_by_script

APART = ("simulator", "scaffold", "locale")
"""Packages that say nothing in a report."""
RENDERERS = (
    *("report/*.py", "fleet/page.py", "fleet/show.py", "fleet/findings.py", "fleet/looks.py", "fleet/pairs.py"),
    *("fleet/pair_records.py", "fleet/ray_pairs.py", "fleet/on_ray.py"),
    *(f"cli/{command}.py" for command in ("compare", "read", "doctor", "diagnose", "score")),
    *(f"cli/options/{command}.py" for command in ("compare", "read", "doctor", "diagnose", "score")),
    *("service/watch.py", "service/timeline.py", "probe/statistics/records.py", "contract.py"),
)
SOURCES_WITHOUT_WORDS = ("sarif.py", "schema.py", "junit.py", "machine.py", "folder.py", "excerpts.py", "labels.py")
TELLING = {"fail", "warn", "unsettled", "note", "told", "NotApplicable", "Finding"}
ARGUMENTS = {"expected", "seen", "fix", "because", "reason", "text"}
FIELDS = set(
    re.findall(
        r"\w+",
        "fix seen expected trouble reason because why repair stopped message said found wrong remark doubt effect "
        "cause advice told situation printed crowd read faults meaning consequence explanation title label",
    )
)
"""Fields of records whose text goes into findings."""
SINGLE = set(
    re.findall(
        r"\w+",
        "expected seen note where fix rule passed skipped failed unsettled interrupted unknown none nothing log "
        "problem problems samples sample right wrong truncated error verdict accuracy difference ready "
        "inconclusive warning warnings added see begins "
        "dialects machine checks stage more figure seconds prompt reasoning answer extraction gold "
        "stream also submit task Latency documented inferred Next Verdict Fix Findings Report median",
    )
)
"""Single words that the renderers say; a single word elsewhere is a name or a key."""
_WORD = re.compile(r"(?<![\w/.$-])[A-Za-z]?[a-z]{2,}(?![\w/.=-])")
_JINJA = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_VALUE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


def messages() -> dict[str, list[str]]:
    """Every message, with the modules that say it, as paths below the package."""
    reader = Reader()
    found = reader.of_findings()
    for pattern in RENDERERS:
        for path in sorted(ROOT.glob(pattern)):
            if path.name not in SOURCES_WITHOUT_WORDS:
                _note(found, reader.all_of(path), path)
    for path in sorted(ROOT.glob("*/*.html.j2")):
        _note(found, of_template(path.read_text(encoding="utf-8")), path)
    _note(found, [f"{{}} {said}" for said in words.COUNTED], ROOT / "report/words.py")
    _note(found, said_by_script(), ROOT / "report/page.js")
    _note(found, [said for said in (*LABELS.values(), *NUMBERED) if " " in said], ROOT / "report/labels.py")
    return {text: sorted(set(places)) for text, places in sorted(found.items())}


def _note(found: dict[str, list[str]], texts: Iterator[str] | list[str], path: Path) -> None:
    for text in texts:
        found.setdefault(text, []).append(path.relative_to(ROOT).as_posix())


def is_prose(text: str) -> bool:
    """Whether a message has words; code, names and keys have none that stand alone."""
    plain = re.sub(r"\{s?\}", " ", text)
    if plain.startswith(("<", "[", "(?", "default-src")) or "\\" in plain or "|" in plain:
        return False
    return plain.strip() in SINGLE or (" " in text.strip() and bool(_WORD.search(plain)))


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


class Reader:
    """Follows texts from the calls that make findings back to the literals that they come from."""

    def __init__(self, apart: Collection[str] = APART) -> None:
        self._modules = {
            path: _parsed(path)
            for path in sorted(ROOT.rglob("*.py"))
            if not set(apart) & set(path.relative_to(ROOT).parts)
        }
        self._index = Index(self._modules)
        self._seen: set[object] = set()
        self._found: dict[str, list[str]] = {}

    def of_findings(self) -> dict[str, list[str]]:
        """The messages of findings and of skips."""
        for calls in list(self._index.calls.values()):
            for path, call in calls:
                named = {word.arg for word in call.keywords}
                tells = called_name(call.func) in TELLING or {"expected", "seen"} <= named
                for word in call.keywords:
                    if word.arg == "because" or (tells and word.arg in ARGUMENTS):
                        self._read(path, word.value)
                if called_name(call.func) in {"note", "NotApplicable", "update", "stage", "labelled"}:
                    for argument in call.args[:2]:
                        self._read(path, argument)
        return self._found

    def all_of(self, path: Path) -> Iterator[str]:
        """Every string of prose of a module but its docstrings."""
        module = self._modules[path]
        apart = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
        apart |= {id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(module):
            text = None if id(node) in apart else _text(node)
            if text and is_prose(text):
                yield text

    def _read(self, path: Path, node: ast.expr) -> None:
        """Note the texts that an expression may be."""
        if node in self._seen:
            return
        self._seen.add(node)
        text = _text(node)
        if text is not None:
            if is_prose(text):
                self._found.setdefault(text, []).append(path.relative_to(ROOT).as_posix())
            for value in _values_of(node):
                self._read(path, value)
        elif isinstance(node, ast.Name):
            self._read_name(path, node)
        elif isinstance(node, ast.Call):
            self._read_call(path, node)
        elif isinstance(node, ast.Attribute):
            self._read_attribute(path, node)
        else:
            for part in _parts(node):
                self._read(path, part)

    def _read_name(self, path: Path, node: ast.Name) -> None:
        function = self._index.function_of(node)
        values = _assigned(function).get(node.id, []) if function else []
        if function and not values and function.name not in TELLING:
            values = [value for _, value in self._passed(function, node.id)]
            for place, value in self._passed(function, node.id):
                self._read(place, value)
        for value in values:
            self._read(path, value)
        for place, value in self._index.constants(path, node.id) if not values else ():
            self._read(place, value)

    def _passed(self, function: ast.FunctionDef, parameter: str) -> Iterator[tuple[Path, ast.expr]]:
        """What callers give for a parameter."""
        names = [argument.arg for argument in function.args.args]
        if parameter not in names + [argument.arg for argument in function.args.kwonlyargs]:
            return
        for path, call in self._index.calls[function.name]:
            yield from ((path, word.value) for word in call.keywords if word.arg == parameter)
            bound = isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"])
            place = names.index(parameter) - bound if parameter in names else len(call.args)
            if 0 <= place < len(call.args):
                yield path, call.args[place]

    def _read_call(self, path: Path, call: ast.Call) -> None:
        name = called_name(call.func)
        if name in {"join", "get", "next", "sorted", "filter", "map", "list", "tuple", "iter", "str", "strip"}:
            parts = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
            for part in parts:
                self._read(path, part)
            return
        for place, function in self._index.functions(path, call.func):
            if function not in self._seen:
                self._seen.add(function)
                for node in ast.walk(function):
                    if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                        self._read(place, node.value)

    def _read_attribute(self, path: Path, node: ast.Attribute) -> None:
        for place, value in self._index.constants_of(path, node):
            self._read(place, value)
        if node.attr not in FIELDS or ("field", node.attr) in self._seen:
            return
        self._seen.add(("field", node.attr))
        for place, value in self._index.field_values(node.attr):
            self._read(place, value)


@cache
def _assigned(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """What a function assigns to each of its variables."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            found[called_name(node.target)].append(node.value)
        elif isinstance(node, ast.Assign):
            choices = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
            for target in node.targets:
                found[called_name(target)].append(node.value)
                for place, each in enumerate(target.elts if isinstance(target, ast.Tuple) else ()):
                    found[called_name(each)] += [
                        value.elts[place] if isinstance(value, ast.Tuple) else value for value in choices
                    ]
    return found


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions of which one, or of which all, make the text."""
    one_of = {
        ast.IfExp: ("body", "orelse"),
        ast.BoolOp: ("values",),
        ast.BinOp: ("left", "right"),
        ast.Tuple: ("elts",),
        ast.List: ("elts",),
        ast.Set: ("elts",),
        ast.Dict: ("values",),
        ast.Starred: ("value",),
        ast.Subscript: ("value",),
        ast.GeneratorExp: ("elt",),
        ast.ListComp: ("elt",),
        ast.SetComp: ("elt",),
    }
    found = [getattr(node, name) for name in one_of.get(type(node), ())]
    return [part for each in found for part in (each if isinstance(each, list) else [each])]


def _text(node: ast.AST) -> str | None:
    """A string or f-string as a message."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _escaped(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _escaped(str(part.value)) if isinstance(part, ast.Constant) else _place(part) for part in node.values
        )
    return None


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _values_of(node: ast.expr) -> list[ast.expr]:
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return [part.value for part in parts if isinstance(part, ast.FormattedValue)]


def _place(part: ast.expr) -> str:
    """`{s}` for `{'s' if many else ''}` and its like, else `{}`."""
    value = part.value if isinstance(part, ast.FormattedValue) else part
    ends = [_text(each) for each in (value.body, value.orelse)] if isinstance(value, ast.IfExp) else [None]
    times = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult) and _text(value.left) == "s"
    return "{s}" if times or all(end is not None and re.fullmatch("[a-z]{0,5}", end) for end in ends) else "{}"


class _Texts(HTMLParser):
    """The texts between the tags of a template, and its attributes that are read aloud."""

    def __init__(self) -> None:
        super().__init__()
        self.found = [""]

    def handle_data(self, data: str) -> None:
        self.found[-1] += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        self.found += [value or "" for name, value in attrs if name in {"aria-label", "title"}] + [""]

    def handle_endtag(self, tag: str) -> None:
        del tag
        self.found.append("")


def of_template(source: str) -> Iterator[str]:
    """The messages of a page's template; a condition ends one."""
    for value in _VALUE.findall(source):
        yield from (
            text
            for text in re.findall(r'"([^"]*)"', value)
            if is_shown(text) and (" " in text or text[:1].isupper())
        )
    texts = _Texts()
    texts.feed(_JINJA.sub("<hr>", _VALUE.sub("\0", source)))
    for text in texts.found:
        message = _escaped(" ".join(text.split())).replace("\0", "{}")
        if is_shown(message):
            yield message


def is_shown(text: str) -> bool:
    """Whether a text of a template has a word."""
    return bool(re.search(r"[A-Za-z]{2}", text.replace("{}", " ")))
