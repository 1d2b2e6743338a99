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
"""An installed package cannot satisfy the requirement."""
PROGRAM = "program"
"""The first word of such a record if a placeholder took the place of a program; the second is its name."""


def is_imported(module: str, records: Iterable[Sequence[str]]) -> bool:
    """Whether a module, or one below it, is in a record of an import."""
    return any(each[0] == IMPORTS and f"{each[1]}.".startswith(f"{module}.") for each in records if len(each) > 1)
