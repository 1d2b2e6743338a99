"""plan/guarded-main: a program that starts vLLM's processes does so only as the main program."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
from healthcheck.stages.plan import calls
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.text.messages import msg

_WORDS = 4
_MOST_CHARACTERS = 120
_GUARD = 'if __name__ == "__main__":'


@check(
    "plan/guarded-main",
    msg("A Python program that starts vLLM guards its main part"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "A spawned engine process imports the program again, and fails if that starts the engine again."
    ),
    requires=("repo/deploy-sh-present",),
)
def guarded_main(plan: LaunchPlan) -> Findings:
    """The engine of vLLM runs in a process of its own. With the start method `spawn`, Python imports the main
    program again in that process. If the import starts the server or the engine, the process ends with “An attempt
    has been made to start a new process before the current process has finished its bootstrapping phase”.

    The start method is spawn if VLLM_WORKER_MULTIPROC_METHOD is set to it, or if the program calls `cli_env_setup`
    or `main` of vLLM, which set it. Otherwise vLLM forks, also on an NPU, and the program needs no guard.

    The check follows the dry run to the line of the program that starts vLLM, and looks for a condition on
    `__name__` around it. Programs on standard input, `python -c` and `__main__.py` are not imported again.

    Example:
    ```sh
    cat > /tmp/serve.py <<END
    from vllm.entrypoints.cli.main import main
    main()
    END
    exec python3 /tmp/serve.py serve "$MODEL_PATH" --port {port}
    ```

    Use instead:

    ```sh
    cat > /tmp/serve.py <<END
    from vllm.entrypoints.cli.main import main
    if __name__ == "__main__":
        main()
    END
    exec python3 /tmp/serve.py serve "$MODEL_PATH" --port {port}
    ```
    """
    records = (each.argv for each in plan.commands if each.program == calls.UNGUARDED)
    for _, starts, where, statement in dict.fromkeys(
        each for each in records if len(each) == _WORDS
    ):
        expected = msg("{guard} around the line that starts vLLM", guard=_GUARD)
        seen = msg(
            "{starts} runs whenever the file is imported, and the engine process imports it "
            "(VLLM_WORKER_MULTIPROC_METHOD is spawn)",
            starts=starts,
        )
        fix = msg(
            "insert above that line, and indent the rest of the file below it: {guard}",
            guard=_GUARD,
        )
        if statement and len(statement) <= _MOST_CHARACTERS:
            fix = msg("write there: {guard} {statement}", guard=_GUARD, statement=statement)
        yield fail(expected=expected, seen=seen, fix=fix, where=where)
