"""repo/committed: the working copy matches the commit, which is what the service clones."""

from __future__ import annotations

import shlex

from healthcheck import contract
from healthcheck.core.check import Findings, check, note, warn
from healthcheck.core.commands import file_words
from healthcheck.core.records import UNCOMMITTED_CHANGES, JsonValue
from healthcheck.stages.repo.records import Submission, Uncommitted
from healthcheck.text.messages import msg, plural

MAX_NAMED = 5


@check(
    "repo/committed",
    msg("The working copy matches the commit"),
    why=msg("The service clones the repository: it does not see uncommitted files."),
)
def committed(submission: Submission) -> Findings:
    """The kit verifies the last commit, as a fresh clone has it, and not the files in your working copy.

    The check warns if a file of the working copy differs from the commit, or if deploy.sh names a file that is not
    committed: a repair has no effect until it is committed. It also warns about a requirements.txt that is not
    committed. Commit the changes and verify again, or undo them. Use
    `git add -f` to commit a file that .gitignore names. A file of 50 MB or more is a warning, too: each evaluation
    clones it, and hosts of repositories refuse the largest.

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
        seen = msg(
            "{value}; the files of the folder were verified instead",
            value=submission.uncommitted.value,
        )
        yield warn(
            expected=msg("a commit, which the service clones"),
            seen=seen,
            fix=msg("commit the files"),
            command="git add -A && git commit -m 'First version'",
        )
    elif submission.uncommitted:
        yield note(
            msg("{value}: its files were verified as they are", value=submission.uncommitted.value)
        )
    if submission.changed:
        expected = msg(
            "the working copy as in commit {commit}, which the service sees",
            commit=submission.commit[:12],
        )
        seen = msg("changed, not committed: {some}", some=_some(submission.changed))
        yield warn(
            expected=expected,
            seen=seen,
            fix=msg("commit the changes (or undo those that are not for the service)"),
            command=f"git commit -am {shlex.quote(_commit_message(submission.changed))}",
            evidence=_not_judged(submission),
        )
    if contract.REQUIREMENTS in {*submission.untracked, *submission.ignored}:
        file = contract.REQUIREMENTS
        yield warn(
            expected=msg("a commit that has {file}, since the folder has it", file=file),
            seen=msg("{file} is in your folder but not in the commit", file=file),
            fix=msg("commit {file}", file=file),
            command=f"git add -f {file} && git commit -m 'Add {file}'",
        )
    for path, size in submission.large[:MAX_NAMED]:
        seen = msg("{path} has {size} MB", path=path, size=size // 10**6)
        fix = msg("put data with the weights, and remove it from the repository")
        command = (
            f"git rm --cached {file_words(path)} && git commit -m {shlex.quote(f'Remove {path}')}"
        )
        yield warn(
            expected=msg("a commit of code, which is quick to clone"),
            seen=seen,
            fix=fix,
            command=command,
            where=path,
        )
    name, needed = contract.ENTRY_POINT, _named_in_deploy_sh(submission)
    if needed:
        force = "-f " if set(needed) & set(submission.ignored) else ""
        added = needed[:MAX_NAMED]
        seen = plural(
            "{name} uses {paths}, which is in your folder but not in the commit",
            "{name} uses {paths}, which are in your folder but not in the commit",
            len(needed),
            name=name,
            paths=_some(needed),
        )
        message = f"Add {added[0]}" if len(added) == 1 else f"Add files that {name} uses"
        yield warn(
            expected=msg("every file that {name} names in the commit", name=name),
            seen=seen,
            fix=msg("commit what {name} uses", name=name),
            command=f"git add {force}{file_words(*added)} && git commit -m {shlex.quote(message)}",
        )


def _not_judged(submission: Submission) -> dict[str, JsonValue]:
    """The changes that were not judged; none if the changes of the working copy were included."""
    if submission.pending:
        return {}
    return {UNCOMMITTED_CHANGES: list[JsonValue](submission.changed[:MAX_NAMED])}


def _commit_message(changed: tuple[str, ...]) -> str:
    return f"Change {changed[0]}" if len(changed) == 1 else f"Change {len(changed)} files"


def _named_in_deploy_sh(submission: Submission) -> tuple[str, ...]:
    """Uncommitted paths that deploy.sh names as a separate word; an inference, hence a warning."""
    text = (submission.deploy_sh or b"").decode("utf-8", "replace")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for sign in "\"'`$(){};|&<>=\t":
        code = code.replace(sign, " ")
    words = {word.removeprefix("./").strip("/") for word in code.split()}
    return tuple(
        path for path in (*submission.untracked, *submission.ignored) if path.strip("/") in words
    )


def _some(paths: tuple[str, ...]) -> str:
    more = len(paths) - MAX_NAMED
    return ", ".join(paths[:MAX_NAMED]) + (msg(" and {more} more", more=more) if more > 0 else "")
