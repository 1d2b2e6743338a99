"""Records a program that starts vLLM's engine process when it is imported, although that process imports it again.

With the start method spawn, multiprocessing imports the file of the program in the new process, under another name.
"""

from __future__ import annotations

import ast
import os
import sys
from types import FrameType

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import image, note

METHOD, SPAWN = "VLLM_WORKER_MULTIPROC_METHOD", "spawn"
_IN_PROCESS = "VLLM_ENABLE_V1_MULTIPROCESSING"
_WITHOUT_A_LOOP = {"LLM", "LLMEngine"}
"""The engines that _IN_PROCESS keeps in the process."""
_OURS = os.path.dirname(__file__)
_NOT_IMPORTED_AGAIN = "__main__.py"
_ASKS_WHO_IMPORTS = {"__name__", "parent_process", "current_process"}
_SOURCE_BYTES = 1024 * 1024


def choose_spawn() -> None:
    """Set the start method as vLLM's own programs do (cli_env_setup)."""
    os.environ.setdefault(METHOD, SPAWN)


def record(starts: str) -> None:
    """Record the line of the program that leads here, if a spawned process would run it again."""
    if os.environ.get(METHOD) != SPAWN:
        return
    if starts in _WITHOUT_A_LOOP and os.environ.get(_IN_PROCESS) == "0":
        return
    file, line = _main_line()
    tree = _tree(file)
    if tree is None or os.path.basename(file) == _NOT_IMPORTED_AGAIN or _is_guarded(tree, line):
        return
    root = image.root()
    shipped = os.path.relpath(file, root) if os.path.abspath(file).startswith(f"{root}/") else file
    note.record("python", calls.UNGUARDED, starts, f"{shipped}:{line}", _statement(tree, line))


def _main_line() -> tuple[str, int]:
    """The file of the program and the line of its module that runs; empty if it has no file."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - the stub that was called
    while frame is not None:
        code = frame.f_code
        is_main = code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        if is_main and os.path.dirname(code.co_filename) != _OURS:
            return code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _tree(file: str) -> ast.Module | None:
    try:
        with open(file, encoding="utf-8") as opened:
            return ast.parse(opened.read(_SOURCE_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_guarded(tree: ast.Module, line: int) -> bool:
    """Whether a condition on the importing process contains the line, or ends the program before it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and _asks_who_imports(node.test):
            inside = node.lineno <= line <= (node.end_lineno or node.lineno)
            if inside or (node in tree.body and node.lineno < line and _ends(node.body[-1])):
                return True
    return False


def _asks_who_imports(test: ast.expr) -> bool:
    names = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(test))
    return any(name in _ASKS_WHO_IMPORTS for name in names)


def _ends(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) in {
        "exit", "_exit", "quit",
    }  # fmt: skip


def _statement(tree: ast.Module, line: int) -> str:
    """The statement of a line, if it is a call on one line that is the last of the program; else ""."""
    last = tree.body[-1]
    is_call = isinstance(last, ast.Expr) and last.lineno == line == last.end_lineno
    return ast.unparse(last) if is_call else ""
