"""runner/python: the Python that would serve."""

from __future__ import annotations

from healthcheck.ascend import stacks
from healthcheck.core.check import Findings, check, fail, note, warn
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.text.messages import msg


@check(
    "runner/python",
    msg("The stack supports the Python that runs the server"),
    stage=RUNNER,
    why=msg("Wheels of torch_npu and vllm-ascend exist for few Python versions."),
    by_row=True,
)
def python(facts: RunnerFacts) -> Findings:
    """The Python of the `vllm` on PATH, else the python3 on PATH, is asked for its version. The row of the version
    matrix says which versions are supported. Another version fails if --stack chose the row, and warns otherwise.

    To repair: use the official image, or a Python of that range, and put it first on PATH.

    Example:
    ```console
    $ python3 --version
    Python 3.13.1
    ```

    Use instead:

    ```console
    $ python3 --version
    Python 3.11.10
    ```
    """
    python, where = facts.software.python, facts.software.executable
    if not python:
        fix = msg("install python3, and put it on PATH")
        yield fail(expected=msg("a Python that runs"), seen=facts.software.trouble, fix=fix)
    elif not stacks.in_range(python, facts.row.python):
        say = fail if facts.wanted.stack else warn
        expected = msg(
            "Python {python} ({label})", python=facts.row.python, label=facts.row.label()
        )
        fix = msg("put such a Python first on PATH, or use the official image")
        yield say(expected=expected, seen=python, fix=fix, where=where)
    else:
        yield note(msg("Python {python}", python=python), where=where)
