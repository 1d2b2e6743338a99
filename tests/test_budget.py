"""How much code there may be: what is added is paid for by what leaves, or goes next door into `extensions`.

A line of code is one that is not blank, not a comment, not a docstring and not an import.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "healthcheck"
NEXT_DOOR = "extensions"
MOST_IN_ALL = 39_900
MOST_IN_THE_CORE = 30_450
MOST_IN_A_ROOM = 6_500
MOST_LOOSE_MODULES = 8
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def lines_of_code(source: str) -> int:
    """The lines of a module that count."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        is_text = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, (ast.Import, ast.ImportFrom)):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    counted: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            counted.update(range(token.start[0], token.end[0] + 1))
    return len(counted - left_out)


def room_of(path: Path) -> str:
    """The room of a module; each stage and each extension is one."""
    folders = path.relative_to(PACKAGE).parts[:-1]
    return "/".join(folders[: 2 if folders[:1] in (("stages",), (NEXT_DOOR,)) else 1])


def counts() -> Counter[str]:
    """Lines of code by room."""
    found: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        found[room_of(path)] += lines_of_code(path.read_text("utf-8"))
    return found


def test_what_counts_as_a_line_of_code() -> None:
    source = '"""About."""\n\nimport os\n\n# why\nX = (\n    1,  # one\n)\n\n\ndef f():\n    """Page.\n\n    More.\n    """\n    return X\n'
    assert lines_of_code(source) == 5


def test_the_code_stays_within_its_budget() -> None:
    found = counts()
    next_door = sum(lines for room, lines in found.items() if room.startswith(NEXT_DOOR))
    in_all = sum(found.values())
    assert in_all <= MOST_IN_ALL, "CONTRIBUTING.md says what to do when the budget is full"
    assert in_all - next_door <= MOST_IN_THE_CORE, "CONTRIBUTING.md says what to do when the budget is full"
    assert {room: lines for room, lines in found.items() if lines > MOST_IN_A_ROOM} == {}


def test_few_modules_lie_outside_the_rooms() -> None:
    loose = sorted(path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py")
    assert len(loose) <= MOST_LOOSE_MODULES, loose
