"""repo/no-secrets: no password, key or token is committed."""

from __future__ import annotations

from itertools import islice

from healthcheck.core.check import Findings, check, warn
from healthcheck.stages.repo.facts import Submission
from healthcheck.text.messages import msg
from healthcheck.text.redact import secret_lines

MAX_NAMED = 5


@check(
    "repo/no-secrets",
    "No secret is committed",
    why="Whoever can read the repository has the secret, also after a later commit removes it.",
    requires=("repo/deploy-sh-present",),
)
def no_secrets(submission: Submission) -> Findings:
    """Looks for passwords, keys and tokens in deploy.sh, and in the small scripts and settings files of the root
    and its folders: by the shape of known tokens, and by the name of the variable or option before a value.
    References ($HF_TOKEN) and placeholders are none. An inference from the text, hence a warning.

    A secret that was committed stays in the history: revoke it where it was issued. The weights come from
    MODEL_PATH, so deploy.sh needs no token of a hub.

    Example:
    ```sh deploy.sh
    export HF_TOKEN=hf_aZ3kQ9wLxP7rT2vB8nM4cJ6yD1sF5gH0
    exec vllm serve "$MODEL_PATH" --port {port}
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
    for text in submission.written:
        found = secret_lines(text.data.decode("utf-8", "replace"))
        for number, line in islice(found, MAX_NAMED):
            yield warn(
                expected=msg("no password, key or token in the commit"),
                seen=msg("{line}, where “removed” stands for the secret", line.strip()[:200]),
                fix=msg("revoke it where it was issued, and remove it: the weights come from MODEL_PATH"),
                where=f"{text.path}:{number}",
            )
