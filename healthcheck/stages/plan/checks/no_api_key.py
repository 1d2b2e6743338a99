"""plan/no-api-key: the server demands no API key."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
from healthcheck.stages.plan import repairs
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.servers.fronts import litellm
from healthcheck.stages.plan.servers.served import STARTED, line_of, served
from healthcheck.text.messages import msg


@check(
    "plan/no-api-key",
    msg("The server demands no API key"),
    rule=contract.CHAT_STREAMING,
    why=msg("The service has no key to send: every request would be refused with status 401."),
    requires=STARTED,
)
def no_api_key(plan: LaunchPlan) -> Findings:
    """The service sends no Authorization header that a submission could choose.

    A server that is started with `--api-key`, or with VLLM_API_KEY in its environment, answers every request
    with status 401. Repair: remove the option, or `unset VLLM_API_KEY` before the server starts. An empty key is no
    key for vLLM.

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --api-key secret
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    key = served(plan).api_key
    if key:
        by_option = key.startswith("-") or key == litellm.KEY_SETTING
        expected = msg("a server that answers without a key")
        seen = msg("a key is demanded by {api_key}", api_key=key)
        edits = repairs.key_edits(plan, served(plan), key)
        fix = (
            msg("remove {api_key}", api_key=key)
            if by_option
            else msg("do not export {api_key}", api_key=key)
        )
        where = line_of(plan, key, key.replace("-", "_"))
        yield fail(expected=expected, seen=seen, fix="" if edits else fix, where=where, edits=edits)
