"""repo/committed: the working copy matches the commit, which is what the service clones."""

from __future__ import annotations

import shlex

from healthcheck import contract
from healthcheck.check import Findings, check, note, warn
from healthcheck.records import Stage
from healthcheck.repo.facts import Submission, Uncommitted

NAME = contract.ENTRY_POINT
MAX_NAMED = 5


@check(
    "repo/committed",
    "The working copy matches the commit",
    stage=Stage.REPO,
    why="The service clones the repository: it does not see uncommitted files.",
)
def committed(submission: Submission) -> Findings:
    """The kit verifies the last commit, as a fresh clone has it, and not the files in your working copy.

    The check warns if a file of the working copy differs from the commit, or if deploy.sh names a file that is not
    committed: a repair has no effect until it is committed. Commit the changes and verify again, or undo them. Use
    `git add -f` to commit a file that .gitignore names.

    Example:
    ```console
    $ git status --short
     M deploy.sh
    ```

    Use instead:

    ```console
    $ git commit --quiet --all --message "Serve on the service's port"
    $ git status --short
    ```
    """
    if submission.uncommitted is Uncommitted.NO_COMMIT:
        yield warn(
            expected="a commit, which the service clones",
            seen=f"{submission.uncommitted.value}; the files of the folder were verified instead",
            fix='git add -A && git commit -m "First version"',
        )
    elif submission.uncommitted:
        yield note(f"{submission.uncommitted.value}: its files were verified as they are")
    if submission.changed:
        yield warn(
            expected=f"the working copy as in commit {submission.commit[:12]}, which the service sees",
            seen=f"changed, not committed: {_some(submission.changed)}",
            fix="git commit -a, or git stash changes that are not for the service",
            evidence={"changed": list(submission.changed)},
        )
    needed = _named_in_deploy_sh(submission)
    if needed:
        yield warn(
            expected=f"every file that {NAME} names in the commit",
            seen=f"{NAME} names {_some(needed)}, which is in the working copy but not in the commit",
            fix=f"git add {'-f ' if set(needed) & set(submission.ignored) else ''}{shlex.join(needed[:MAX_NAMED])} "
            "&& git commit",
        )


def _named_in_deploy_sh(submission: Submission) -> tuple[str, ...]:
    """Uncommitted paths that deploy.sh names as a separate word; an inference, hence a warning."""
    text = (submission.deploy_sh or b"").decode("utf-8", "replace")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for sign in "\"'`$(){};|&<>=\t":
        code = code.replace(sign, " ")
    words = {word.removeprefix("./").strip("/") for word in code.split()}
    return tuple(path for path in (*submission.untracked, *submission.ignored) if path.strip("/") in words)


def _some(paths: tuple[str, ...]) -> str:
    more = len(paths) - MAX_NAMED
    return ", ".join(paths[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
