"""Names of recorded Python calls. The name of a server is CALL with the library that starts it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

CALL = "python:"
LOADS_MODEL = f"{CALL}model"
DOWNLOADS = f"{CALL}download"
IMPORTS = f"{CALL}imports"
"""The program imports from vLLM or vllm-ascend: the module, the name in it ("" for the module alone), the file and
line, and what it tried first ("module:name")."""
GUESSED = f"{CALL}guessed"
"""The program depends on values that only the real libraries can return, or was replaced by a placeholder."""
WITHOUT_INDEX = f"{CALL}without-index"
"""pip finds a requirement in no folder and may ask no index: the package, CERTAIN or "", and the folders."""
CERTAIN = "certain"
"""In such a record: an installed package cannot satisfy the requirement."""
SHADOWS = f"{CALL}shadows"
"""A module of the submission hides a package or standard module from vLLM: the name, the file, BY_VARIABLE or
OF_THE_PROGRAM, CERTAIN ("" if the server may not import it), and what it lacks of what the server imports."""
UNGUARDED = f"{CALL}unguarded"
"""A program starts vLLM when it is imported, and the spawned engine process imports it: what it starts, the file
and line, and the statement if it is the last one of the program and fits on one line."""
BY_VARIABLE, OF_THE_PROGRAM = "PYTHONPATH", "program"
"""Why Python searches the folder: PYTHONPATH names it, or the program or `python -m` runs there."""
SERVER_IMPORTS = "server-imports.json"
"""The imports of vLLM's server, by which stubs find such modules."""
PROGRAM = "program"
"""The first word of such a record if a placeholder took the place of a program; the second is its name."""


def is_imported(module: str, records: Iterable[Sequence[str]]) -> bool:
    """Whether a module, or one below it, is in a record of an import."""
    return any(
        each[0] == IMPORTS and f"{each[1]}.".startswith(f"{module}.")
        for each in records
        if len(each) > 1
    )


def is_python_call(argv: Sequence[str]) -> bool:
    """Whether a record is a call in Python, such as `uvicorn.run(…)`, and no command."""
    return bool(argv) and argv[0].startswith(CALL)
