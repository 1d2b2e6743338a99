"""Engines are values: outside healthcheck/engines, no code decides by the name of one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from healthcheck.engines import known
from healthcheck.engines.base import Launch
from healthcheck.engines.unrecognised import UNRECOGNISED
from healthcheck.stages.plan.image import STUBBED

ROOT = Path(__file__).parents[1]
NAMES = {launch.engine.name for launch in known.LAUNCHES} - {UNRECOGNISED.name}
"""Not "unknown", an ordinary word: mypy refuses to compare an engine with it."""

STARTED = [launch for launch in known.LAUNCHES if launch.programs]

STUBS = ROOT / "healthcheck/stages/plan/dry_run/stubs"
"""Stubs compare programs and modules of a script. They run in the sandbox, without the rest of the kit."""
OTHER_THINGS: Mapping[str, tuple[str, ...]] = {
    # Python packages: those of a release, the installed ones, imported ones, those that pip installs or removes.
    "healthcheck/ascend/stacks.py": ("_agrees", "nearest"),
    "healthcheck/extensions/runner/checks/stack.py": ("_differences",),
    "healthcheck/stages/plan/checks/keeps_packages.py": ("_uninstalled",),
    "healthcheck/stages/plan/checks/no_missing_imports.py": (
        *("_elsewhere", "_finding", "_programs", "_release", "_repair", "_unknown", "uses"),
    ),
    "healthcheck/stages/repo/packages.py": ("installed_by",),
    # Keys of a report, such as versions.vllm.
    "healthcheck/report/labels.py": ("label",),
}
"""The functions that compare with the same word for another thing."""

COLLECTIONS = {"frozenset", "set", "tuple", "list"}
Found = tuple[str, str]
"""A file and the function in it."""


def words_of(node: ast.AST, constants: Mapping[str, set[str]]) -> set[str]:
    """The strings that an operand consists of: a literal, a collection of them, or the name of a constant."""
    if isinstance(node, ast.Name):
        return constants.get(node.id, set())
    if isinstance(node, ast.Constant):
        return {node.value} if isinstance(node.value, str) else set()
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        return set().union(*(words_of(each, constants) for each in node.elts))
    if isinstance(node, ast.Dict):
        return set().union(*(words_of(each, constants) for each in node.keys if each))
    is_collection = isinstance(node, ast.Call) and getattr(node.func, "id", "") in COLLECTIONS
    if isinstance(node, ast.Call) and is_collection:
        return set().union(*(words_of(each, constants) for each in node.args))
    if isinstance(node, ast.BinOp):
        return words_of(node.left, constants) | words_of(node.right, constants)
    return set()


def constants_of(tree: ast.Module) -> dict[str, set[str]]:
    """The words in each constant of a module."""
    found: dict[str, set[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found[target.id] = words_of(node.value, found)
    return found


def compared(node: ast.AST, constants: Mapping[str, set[str]]) -> set[str]:
    """The words with which a node compares something, or by which it looks something up."""
    if isinstance(node, ast.Compare):
        return set().union(*(words_of(each, constants) for each in (node.left, *node.comparators)))
    if isinstance(node, ast.MatchValue):
        return words_of(node.value, constants)
    if isinstance(node, ast.Subscript):
        return words_of(node.value, constants)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of_mapping = node.func.attr == "get"
        return words_of(node.func.value, constants) if of_mapping else set()
    return set()


def comparisons(text: str) -> Iterator[str]:
    """The functions that compare something with an engine's name; "" for the module itself."""
    tree = ast.parse(text)
    constants = constants_of(tree)

    def walk(node: ast.AST, function: str) -> Iterator[str]:
        if compared(node, constants) & NAMES:
            yield function
        for child in ast.iter_child_nodes(node):
            inner = child.name if isinstance(child, ast.FunctionDef) else function
            yield from walk(child, inner)

    yield from walk(tree, "")


def found_in_the_kit() -> set[Found]:
    return {
        (path.relative_to(ROOT).as_posix(), function)
        for folder in ("healthcheck", "adapter")
        for path in (ROOT / folder).rglob("*.py")
        if not {ROOT / "healthcheck/engines", STUBS} & set(path.parents)
        for function in comparisons(path.read_text("utf-8"))
    }


def test_no_code_outside_compares_the_name_of_an_engine() -> None:
    expected = {(file, each) for file, functions in OTHER_THINGS.items() for each in functions}
    assert found_in_the_kit() == expected


@pytest.mark.parametrize(
    "text",
    [
        'def f(e): return e == "vllm"',
        'def f(e): return "sglang" != e',
        'def f(e): return e.name in {"vllm", "other"}',
        'NAMES = frozenset({"mindie"})\ndef f(e): return e in NAMES',
        'A = ("lmdeploy",)\nB = {*A, "x"} | {"swift"}\ndef f(e): return e in B',
        'def f(e):\n    match e:\n        case "llama.cpp":\n            return 1',
        'OPTIONS = {"lmdeploy": "--server-port"}\ndef f(e): return OPTIONS.get(e)',
        'OPTIONS = {"lmdeploy": "--server-port"}\ndef f(e): return OPTIONS[e]',
    ],
)
def test_comparisons_are_found(text: str) -> None:
    assert set(comparisons(text)) == {"f"}


def test_words_for_other_things_are_not_found() -> None:
    assert not list(comparisons('def f(e): return e == "npu" or run("vllm", "serve")'))
    assert not list(comparisons('def f(): return find_spec("vllm") is not None'))


@pytest.mark.parametrize("launch", STARTED, ids=lambda each: each.programs[0])
def test_every_program_starts_its_own_launch(launch: Launch) -> None:
    for program in launch.programs:
        module = ("python3",) if program.startswith("-m ") else ()
        assert known.find((*module, *program.split(), "--port", "1"))[0] is launch


def test_the_dry_run_has_a_stub_for_every_program_and_module() -> None:
    assert known.PROGRAMS <= STUBBED
    assert "vllm.entrypoints.openai.api_server" in known.MODULES
    assert not {"uvicorn", "http.server"} & set(known.MODULES), "they run the author's program"


def test_an_unknown_program_is_unrecognised() -> None:
    launch, words = known.find(("bin/own-server", "--port", "1"))
    assert launch.engine is UNRECOGNISED
    assert words == ("--port", "1")


def test_engines_are_found_by_name() -> None:
    assert {known.named(name).name for name in NAMES} == NAMES
    with pytest.raises(KeyError):
        known.named("no such engine")
