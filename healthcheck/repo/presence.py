"""repo/deploy-sh-present: the entry point is where the service looks for it."""

from __future__ import annotations

import os
import shlex

from healthcheck import contract
from healthcheck.check import Findings, check, fail, note, warn
from healthcheck.records import Stage
from healthcheck.repo.facts import Kind, Submission

NAME = contract.ENTRY_POINT
LAUNCH = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
MAX_NAMED = 5


@check(
    "repo/deploy-sh-present",
    "deploy.sh is at the root of the repository",
    stage=Stage.REPO,
    rule=contract.ROOT_FILES,
    why="The service starts a submission by running deploy.sh from the root; without it nothing starts.",
)
def deploy_sh_present(submission: Submission) -> Findings:
    """The service clones the repository and runs deploy.sh from its root. It sees what is committed.

    The check fails where deploy.sh is missing, stands in a subfolder, has another spelling (Deploy.sh), is a
    folder or a link that leads out of the repository, is empty, or is there but not committed. Each message names
    the command that repairs it, such as `git mv scripts/deploy.sh deploy.sh`.

    It warns where the working copy differs from the commit in a file that counts: the verification runs on a clean
    export of the commit, and the service does the same, so an uncommitted repair changes nothing.
    """
    yield from _entry(submission)
    yield from _uncommitted(submission)


def _entry(submission: Submission) -> Findings:
    kind, expected = submission.deploy_sh_kind, f"a file {NAME} at the root of the repository"
    if kind is Kind.MISSING:
        yield from _missing(submission, expected)
    elif kind is Kind.FOLDER:
        inside = next(
            (path for path in submission.paths if path.startswith(f"{NAME}/") and path.endswith(".sh")), ""
        )
        rest = shlex.quote(f"scripts/{inside.partition('/')[2]}")
        move = f"git mv {NAME} scripts && git mv {rest} {NAME}" if inside else ""
        yield fail(
            expected=expected, seen=f"{NAME} is a folder", fix=move or f"replace the folder by a script {NAME}"
        )
    elif kind is Kind.LINK_OUT:
        yield fail(
            expected=expected,
            seen=f"{NAME} is a link to {submission.deploy_sh_link!r}, which the repository does not hold",
            fix=f"rm {NAME}, copy the script itself to {NAME}, and commit it: git add {NAME} && git commit",
        )
    elif kind is Kind.OTHER:
        yield fail(expected=expected, seen=f"{NAME} is no regular file", fix=f"replace it by a script {NAME}")
    elif not (submission.deploy_sh or b"").strip():
        yield fail(
            expected="a script that starts the server",
            seen=f"{NAME} is empty",
            fix=f"write the launch command into it, such as: {LAUNCH}",
            rule=contract.STARTS_THE_SERVICE,
        )


def _missing(submission: Submission, expected: str) -> Findings:
    if submission.commit and os.path.lexists(submission.root / NAME) and NAME in os.listdir(submission.root):
        ignored = NAME in submission.ignored
        seen = f"{NAME} is in the working copy and not in commit {submission.commit[:12]}"
        yield fail(
            expected=f"{expected}, committed",
            seen=f"{seen}: .gitignore names it" if ignored else seen,
            fix=f'git add {"-f " if ignored else ""}{NAME} && git commit -m "Add {NAME}"',
        )
    elif submission.deploy_sh_elsewhere:
        found = submission.deploy_sh_elsewhere[0]
        more = submission.deploy_sh_elsewhere[1:]
        move = "git mv" if submission.commit else "mv"
        yield fail(
            expected=expected,
            seen=f"{found}{f' (and {len(more)} more of that name)' if more else ''}, but no {NAME} at the root",
            fix=f"{move} {shlex.quote(found)} {NAME}"
            + (", and let its relative paths start from the root" if "/" in found else ""),
            where=found,
        )
    else:
        yield fail(
            expected=expected,
            seen=f"no {NAME} among {len(submission.paths)} files",
            fix=f"`npu-adapter new` makes a repository that has one; or write one that ends in: {LAUNCH}",
        )


def _uncommitted(submission: Submission) -> Findings:
    if submission.uncommitted == "nothing is committed yet":
        yield warn(
            expected="a commit, which the service clones",
            seen=f"{submission.uncommitted}; the files of the folder were verified instead",
            fix='git add -A && git commit -m "First version"',
        )
    elif submission.uncommitted:
        yield note(f"{submission.uncommitted}: its files were verified as they are")
    if submission.changed:
        yield warn(
            expected=f"the working copy as commit {submission.commit[:12]} has it: the service sees the commit",
            seen=f"changed and not committed: {_some(submission.changed)}",
            fix="git commit -a, or git stash what is not meant for the service",
            evidence={"changed": list(submission.changed)},
        )
    needed = _named_in_deploy_sh(submission)
    if needed:
        yield warn(
            expected=f"every file that {NAME} names in the commit",
            seen=f"{NAME} names {_some(needed)}, which the working copy has and the commit lacks",
            fix=f"git add {'-f ' if set(needed) & set(submission.ignored) else ''}{shlex.join(needed[:MAX_NAMED])} "
            "&& git commit",
        )


def _named_in_deploy_sh(submission: Submission) -> tuple[str, ...]:
    """Uncommitted paths whose name stands in deploy.sh as a word of its own; an inference, hence a warning."""
    text = (submission.deploy_sh or b"").decode("utf-8", "replace")
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for sign in "\"'`$(){};|&<>=\t":
        code = code.replace(sign, " ")
    words = {word.removeprefix("./").strip("/") for word in code.split()}
    return tuple(path for path in (*submission.untracked, *submission.ignored) if path.strip("/") in words)


def _some(paths: tuple[str, ...]) -> str:
    more = len(paths) - MAX_NAMED
    return ", ".join(paths[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
