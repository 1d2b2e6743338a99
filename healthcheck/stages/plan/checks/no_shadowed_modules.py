"""plan/no-shadowed-modules: no file of the repository hides a package that vLLM imports."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.core.commands import Commanded, file_words
from healthcheck.core.records import Finding
from healthcheck.stages.plan import calls
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.text.messages import msg

_LEAST_WORDS, _MOST_LACKING = 5, 4
_EXPECTED = msg("vLLM imports its packages and the standard library, not files of the repository")


@check(
    "plan/no-shadowed-modules",
    msg("No file hides a package that vLLM imports"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "Python imports the first module of a name on its search path, which begins with the program's folder."
    ),
    requires=("repo/deploy-sh-present",),
)
def no_shadowed_modules(plan: LaunchPlan) -> Findings:
    """A file such as openai.py or logging.py must not be where Python finds it before the package of that name.

    `python -m` searches the working directory first, `python serve.py` the folder of serve.py, and every Python
    program the folders in PYTHONPATH. The program `vllm` searches neither the working directory nor the folder of
    the program that starts it.

    The check fails if the server's start imports names or submodules that the file does not have. It warns if the
    server may import the module, or if the file may be a complete copy. The names are those that vLLM 0.18.0 to
    0.33.0 import when `vllm.entrypoints.openai.api_server` starts. A folder without `__init__.py` hides nothing.

    Example:
    ```sh
    # openai.py is next to deploy.sh
    cd "$(dirname "$0")"
    exec python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --port {port}
    ```

    Use instead (with openai.py renamed to own_openai.py):

    ```sh
    cd "$(dirname "$0")"
    exec python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --port {port}
    ```
    """
    records = (each.argv[1:] for each in plan.commands if each.program == calls.SHADOWS)
    for words in dict.fromkeys(each for each in records if len(each) >= _LEAST_WORDS - 1):
        yield _finding(words)


def _finding(words: Sequence[str]) -> Finding:
    name, file, origin, kind, *lacking = words
    folder = posixpath.dirname(file.removesuffix("/__init__.py")) or "."
    first = msg("PYTHONPATH has the folder {folder}", folder=folder)
    if origin == calls.OF_THE_PROGRAM:
        first = msg(
            "Python searches the folder of the program, {folder}, first (with -m the working directory)",
            folder=folder,
        )
    seen = msg(
        "vLLM's `import {module}` finds {file}: {reason}", module=name, file=file, reason=first
    )
    if kind == calls.CERTAIN and lacking:
        parts = ", ".join(f"{name}.{part.lstrip('.')}" for part in lacking[:_MOST_LACKING])
        seen += msg("; the server's start imports {parts}, which it does not have", parts=parts)
        return fail(expected=_EXPECTED, seen=seen, fix=_rename(name, file), where=file)
    if kind == calls.CERTAIN:
        seen += msg("; whether it has everything that the server uses is unknown")
    else:
        seen += msg("; whether vLLM gets it from there depends on its release and on the image")
    return warn(expected=_EXPECTED, seen=seen, fix=_rename(name, file), where=file)


def _rename(name: str, file: str) -> Commanded:
    place = file.removesuffix("/__init__.py")
    new = posixpath.join(posixpath.dirname(place), f"own_{posixpath.basename(place)}")
    return Commanded(
        msg("rename it, and write own_{module} where your files import it", module=name),
        f"git mv {file_words(place, new)}",
    )
