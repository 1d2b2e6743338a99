"""plan/no-carriage-returns: no argument of the server ends in a carriage return."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.errors import KitError
from healthcheck.stages.plan.commands import NAME_CHARACTERS
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script.line_ends import line_end_repair
from healthcheck.stages.plan.servers.served import line_of, served
from healthcheck.system import json_text
from healthcheck.system.processes import shortened
from healthcheck.text.messages import msg

_LISTED = 4
_NAMES = "--served-model-name"


@check(
    "plan/no-carriage-returns",
    msg("No argument of the server ends in a carriage return"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "The carriage return becomes part of the value: no address, path or name with one exists."
    ),
    requires=("repo/deploy-sh-syntax", "plan/starts-server"),
)
def no_carriage_returns(plan: LaunchPlan) -> Findings:
    r"""A file that an editor on Windows wrote ends its lines in CR LF. A shell that sources or reads it keeps the
    carriage return as the last character of each value: the host is then `0.0.0.0\r`.

    A number or a JSON object is a warning, because programs ignore a carriage return there, and so is an
    environment variable. The other checks judge the arguments without the carriage returns.

    Example:
    ```sh
    HOST="$(printf '0.0.0.0\r')"
    exec vllm serve "$MODEL_PATH" --host "$HOST"
    ```

    Use instead:

    ```sh
    HOST="0.0.0.0"
    exec vllm serve "$MODEL_PATH" --host "$HOST"
    ```
    """
    server = served(plan)
    found = server.carriage_returns
    harmful = any(not _is_harmless(server, option, value) for option, value in found)
    values = [_shown(option, value) for option, value in found]
    values = values or [
        f"{name}=…\\r" for name, value in server.env.items() if value.endswith("\r")
    ]
    if not values:
        return
    seen, files = ", ".join(values[:_LISTED]), plan.line_ends[:_LISTED]
    fix: str = msg(
        "end the lines in LF of the files that this command lists: {command}",
        command="git grep -lI $'\\r'",
    )
    if files:
        seen = msg("{values}; lines end in CR LF in {files}", values=seen, files=", ".join(files))
        fix = line_end_repair(*files)
    where = line_of(plan, found[0][0]) if found and found[0][0] else server.where
    expected = msg("values without a carriage return at the end")
    yield (fail if harmful else warn)(expected=expected, seen=seen, fix=fix, where=where)


def _shown(option: str, value: str) -> str:
    return f"{option} {shortened(value, NAME_CHARACTERS)}\\r".strip()


def _is_harmless(server: ServerCommand, option: str, value: str) -> bool:
    """Whether the engine reads the value like the one without a carriage return, or has another one as well."""
    if option == _NAMES and len(server.served_names) > 1:
        return (option, server.served_names[0]) not in server.carriage_returns
    try:
        return not isinstance(json_text.load(value), str)
    except KitError:
        return False
