"""Records what the submission imports from vLLM and vllm-ascend, and refuses what no catalogued release has."""

from __future__ import annotations

import ast
import functools
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import image, note
from healthcheck.stages.plan.importable import FILE, Importable, read

PACKAGES = ("vllm", "vllm_ascend")
MODULE, NAME, ATTRIBUTE = "module", "name", "attribute"
"""How a program asked: for a module, for a name in an import statement, or for an attribute of a module."""
texts: dict[str, str] = {}
"""Programs without a file, by the name that they were compiled with."""
refused: list[str] = []
"""What this program asked for, and no release has."""
_KIT = sys.argv[1] if len(sys.argv) > 1 else ""
_OURS = (os.path.dirname(__file__), os.path.dirname(importlib.__file__), "<frozen importlib")
_MOST_RECORDS, _SOURCE_BYTES = 200, 1024 * 1024
_CATCHES = {
    MODULE: {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"},
    NAME: {"ImportError", "Exception", "BaseException"},
    ATTRIBUTE: {"AttributeError", "Exception", "BaseException"},
}
_EXITS = {"exit", "quit", "_exit", "abort"}
_recorded: set[tuple[str, ...]] = set()


def is_there(module: str, name: str = "") -> bool:
    """Record a use of a module or of a name in it that some release lacks; returns whether any release has it."""
    package = module.partition(".")[0]
    catalogue = _catalogues().get(package)
    if catalogue is None or not _is_catalogued(catalogue):
        _record(module, name, _site(for_module=not name))
        return True
    having = catalogue.having(module, name)
    if len(having) < len(catalogue.releases):
        _record(module, name, _site(for_module=not name))
    if not having:
        refused.append(f"{module}.{name}".rstrip("."))
    return bool(having)


def has(module: str, name: str = "") -> bool:
    """Whether some release has a module, or a name in it; without a record."""
    catalogue = _catalogues().get(module.partition(".")[0])
    if catalogue is None or catalogue.having(module, name):
        return catalogue is not None
    return bool(name) and not _is_catalogued(catalogue)


@functools.cache
def _catalogues() -> dict[str, Importable]:
    with open(f"{_KIT}/{FILE}", encoding="ascii") as file:
        return read(file.read())


def _is_catalogued(catalogue: Importable) -> bool:
    """Whether the names of the image's own release are known; those of an older one may be any."""
    release = image.packages().get(image.pip_name(catalogue.package), "")
    return release.partition("+")[0] in catalogue.releases


def _site(*, for_module: bool) -> list[tuple[str, int]]:
    """The lines that lead to an import, innermost first.

    None if `from package import name` only tries whether the name is a module: the name itself is recorded.
    """
    found: list[tuple[str, int]] = []
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - the stub that was asked
    while frame is not None:
        if for_module and not found and frame.f_code.co_name == "_handle_fromlist":
            return []
        if not frame.f_code.co_filename.startswith(_OURS):
            found.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return found


def _record(module: str, name: str, site: Sequence[tuple[str, int]]) -> None:
    """Record a use, unless the program prepared for its failure; then what it uses instead."""
    if not site:
        return
    kind = _kind(module, name, *site[0]) if name else MODULE
    if not kind:
        return
    for file, line in site:
        handler = _handler(_tree(file), line, kind)
        if handler is not None:
            _record_fallback(handler, file, [f"{module}:{name}"])
            return
    file, line = site[0]
    for asked, of in [(module, name)] if name else _statement(module, file, line):
        _tell(asked, of, f"{_shipped(file)}:{line}", ())


def _statement(module: str, file: str, line: int) -> list[tuple[str, str]]:
    """The modules and names of the import statement that looks for a module, or for one below it."""
    found = []
    for node in ast.walk(_tree(file)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and _covers([node], line):
            asked = ((each, of) for each, of, _ in _imported([node]))
            found += [(each, of) for each, of in asked if f"{each}.".startswith(f"{module}.")]
    return found or [(module, "")]


def _tell(module: str, name: str, where: str, lacking: Sequence[str]) -> None:
    words = (module, name, where, *lacking)
    if words not in _recorded and len(_recorded) < _MOST_RECORDS:
        _recorded.add(words)
        note.record("python", calls.IMPORTS, *words)


def _shipped(file: str) -> str:
    """A file as the submission names it; "" for a program without a file."""
    if file in texts:
        return ""
    root = image.root()
    return os.path.relpath(file, root) if os.path.abspath(file).startswith(f"{root}/") else file


@functools.lru_cache(maxsize=32)
def _tree(file: str) -> ast.Module:
    """The syntax tree of a program; an empty one if it cannot be read."""
    text = texts.get(file)
    try:
        if text is None:
            with open(file, encoding="utf-8") as opened:
                text = opened.read(_SOURCE_BYTES)
        return ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _kind(module: str, name: str, file: str, line: int) -> str:
    """How a line asks for a name of a module; "" if it only tries whether the name is there (hasattr)."""
    kinds = set()
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.stmt) and not _covers([node], line):
            continue
        if isinstance(node, ast.ImportFrom) and any(
            each.name in {name, "*"} for each in node.names
        ):
            kinds.add(NAME)
        elif isinstance(node, ast.Import) and any(
            f"{each.name}.".startswith(f"{module}.{name}.") for each in node.names
        ):
            kinds.add(MODULE)
        elif isinstance(node, ast.Attribute) and node.attr == name and _covers([node], line):
            kinds.add(ATTRIBUTE)
    return next((kind for kind in (NAME, MODULE, ATTRIBUTE) if kind in kinds), "")


def _covers(body: Sequence[ast.AST], line: int) -> bool:
    if not body:
        return False
    first, last = getattr(body[0], "lineno", 0), getattr(body[-1], "end_lineno", 0)
    return bool(first <= line <= (last or first))


def _handler(tree: ast.AST, line: int, kind: str) -> list[ast.stmt] | None:
    """The statements that follow a failure at a line, which the program catches; None if it does not."""
    found: list[ast.stmt] | None = None
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and _covers(node.body, line):
            handler = next((each for each in node.handlers if _catches(each.type, kind)), None)
            if handler is not None:
                found = None if any(map(_gives_up, handler.body)) else handler.body
        elif isinstance(node, ast.With) and _covers(node.body, line):
            calls_ = [
                each.context_expr for each in node.items if isinstance(each.context_expr, ast.Call)
            ]
            if any(
                _last_name(call.func) == "suppress" and any(_catches(a, kind) for a in call.args)
                for call in calls_
            ):
                found = []
    return found


def _catches(caught: ast.expr | None, kind: str) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_catches(each, kind) for each in caught.elts)
    return caught is None or _last_name(caught) in _CATCHES[kind]


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _gives_up(statement: ast.stmt) -> bool:
    """Whether a statement of a handler ends the program."""
    if isinstance(statement, ast.Raise):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and _last_name(call.func) in _EXITS


def _record_fallback(handler: Sequence[ast.stmt], file: str, lacking: Sequence[str]) -> None:
    """Record what a program imports instead, in a release without what it tries first."""
    for statement in handler:
        if isinstance(statement, ast.Try):
            tried = next(_imported(statement.body), None)
            inner = next(
                (each.body for each in statement.handlers if _catches(each.type, MODULE)), None
            )
            if tried and inner is not None:
                _record_fallback(inner, file, [*lacking, ":".join(tried[:2])])
                continue
        for module, name, line in _imported([statement]):
            _tell(module, name, f"{_shipped(file)}:{line}", lacking)


def _imported(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str, int]]:
    """The modules and names of the packages that statements import themselves."""
    for node in body:
        if isinstance(node, ast.ImportFrom) and not node.level and _is_ours(node.module or ""):
            yield from ((node.module or "", each.name, node.lineno) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "", node.lineno) for each in node.names if _is_ours(each.name))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES
