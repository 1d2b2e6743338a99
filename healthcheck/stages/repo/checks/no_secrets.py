"""repo/no-secrets: no password, key or token is committed."""

from __future__ import annotations

from itertools import islice

from healthcheck.core.check import Findings, check, note, warn
from healthcheck.stages.repo.records import Submission
from healthcheck.text.messages import msg
from healthcheck.text.redact import secret_lines

MAX_NAMED = 5


@check(
    "repo/no-secrets",
    msg("No secret is committed"),
    why=msg(
        "Whoever can read the repository has the secret, also after a later commit removes it."
    ),
    requires=("repo/deploy-sh-present",),
)
def no_secrets(submission: Submission) -> Findings:
    """Looks for passwords, keys and tokens in deploy.sh, and in the small scripts and settings files of the root
    and its folders: by the shape of known tokens, and by the name of the variable or option before a value.
    References ($HF_TOKEN) and placeholders are none. An inference from the text, hence a warning.

    A secret that a later commit removed stays in the history, so the same files of earlier commits count as
    well (the newest 1000 commits, 8 MiB of changes and 5 seconds at most; a shallow clone lacks them). Revoke it
    where it was issued; --skip repo/no-secrets then hides a revoked one. The weights come from MODEL_PATH, so
    deploy.sh needs no token of a hub.

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
                seen=msg("{line}, where “removed” stands for the secret", line=line.strip()[:200]),
                fix=msg(
                    "revoke it where it was issued, and remove it: the weights come from MODEL_PATH"
                ),
                where=f"{text.path}:{number}",
            )
    for past in submission.history.secrets:
        yield warn(
            expected=msg("no password, key or token in an earlier commit"),
            seen=msg(
                "{line} in {file} of commit {commit}, where “removed” stands for the secret; every clone has it",
                line=past.line.strip()[:200],
                file=past.path,
                commit=past.commit[:12],
            ),
            fix=msg(
                "revoke it where it was issued: a later commit does not remove it from the history"
            ),
            where=f"{past.commit[:12]}:{past.path}",
        )
    if submission.history.unread:
        yield note(submission.history.unread)
