"""plan/whole-commands: no option is cut off from its command."""

from __future__ import annotations

import re

from healthcheck.core.check import Findings, check, fail
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.stderr import Need, complaints
from healthcheck.stages.plan.servers.served import STARTED
from healthcheck.text.messages import msg


@check(
    "plan/whole-commands",
    "No option is cut off from its command",
    why="An option on a line of its own is a command that does not exist.",
    requires=STARTED,
)
def whole_commands(plan: LaunchPlan) -> Findings:
    r"""A backslash continues a line only as its last character. A space after it, or a missing one, ends the
    command: the server starts without the options that follow.

    Example:
    ```sh
    vllm serve "$MODEL_PATH"
      --port {port}
    ```

    Use instead:

    ```sh
    vllm serve "$MODEL_PATH" \
      --port {port}
    ```
    """
    expected = msg("one command over several lines")
    for number, line in enumerate(plan.script.splitlines(), 1):
        following = deploy_sh.line_at(plan.script, number + 1)
        if re.search(r"\\[ \t]+$", line) and following.startswith("-") and not line.lstrip().startswith("#"):
            said = (number, repr(following))
            seen = msg(
                "line {number} ends in a backslash and a space, so {following} is not part of the command", *said
            )
            fix = msg("delete the space after the backslash")
            yield fail(expected=expected, seen=seen, fix=fix, where=deploy_sh.place(number))
            return
    text = f"{plan.run.stderr}\n{plan.run.stderr_after}"
    cut = next((each for each in complaints(text, plan.script) if each.kind is Need.OPTION), None)
    if cut:
        seen = msg("{text}: the option is a command of its own", cut.text)
        fix = msg("end the previous line with a backslash as its last character")
        yield fail(expected=expected, seen=seen, fix=fix, where=cut.where)
