"""repo/deploy-sh-present: deploy.sh is at the root of the repository."""

from __future__ import annotations

import os
import shlex

from healthcheck import contract
from healthcheck.check import Findings, check, fail
from healthcheck.records import Stage
from healthcheck.repo.facts import Kind, Submission

NAME = contract.ENTRY_POINT
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


@check(
    "repo/deploy-sh-present",
    "deploy.sh is at the root of the repository",
    stage=Stage.REPO,
    rule=contract.ROOT_FILES,
    why="The service starts a submission by running deploy.sh from the root of the repository.",
)
def deploy_sh_present(submission: Submission) -> Findings:
    """The service clones the repository and runs deploy.sh from its root. It sees only committed files.

    The check fails if deploy.sh is missing, in a subfolder, spelled differently (Deploy.sh), empty, not committed,
    a folder, a Git LFS pointer, or a link that leads out of the repository. Each message names the command that
    repairs it, such as `git mv scripts/deploy.sh deploy.sh`.

    Example:
    ```sh scripts/deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}
    ```
    """
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
            expected=expected, seen=f"{NAME} is a folder", fix=move or f"replace the folder with a script {NAME}"
        )
    elif kind is Kind.LINK_OUT:
        yield fail(
            expected=expected,
            seen=f"{NAME} is a link to {submission.deploy_sh_link!r}, which the repository does not hold",
            fix=f"rm {NAME}, copy the script itself to {NAME}, and commit it: git add {NAME} && git commit",
        )
    elif kind is Kind.OTHER:
        yield fail(expected=expected, seen=f"{NAME} is not a regular file", fix=f"replace it with a script {NAME}")
    elif not (submission.deploy_sh or b"").strip():
        yield fail(
            expected="a script that starts the server",
            seen=f"{NAME} is empty",
            fix=f"write the launch command into it, such as: {contract.LAUNCH}",
            rule=contract.STARTS_THE_SERVICE,
        )
    elif (submission.deploy_sh or b"").startswith(LFS_POINTER):
        yield fail(
            expected=f"{expected}, which every clone has",
            seen=f"{NAME} is a Git LFS pointer: a clone without Git LFS gets these three lines",
            fix=f"remove it from the patterns in .gitattributes, then: git add --renormalize {NAME} && git commit",
            where=f"{NAME}:1",
        )


def _missing(submission: Submission, expected: str) -> Findings:
    if submission.commit and os.path.lexists(submission.root / NAME) and NAME in os.listdir(submission.root):
        ignored = NAME in submission.ignored
        seen = f"{NAME} is in the working copy but not in commit {submission.commit[:12]}"
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
            + (", and make its relative paths start from the root" if "/" in found else ""),
            where=found,
        )
    else:
        yield fail(
            expected=expected,
            seen=f"no {NAME} among {len(submission.paths)} files",
            fix=f"`npu-adapter new` makes a repository with one; or write a script that ends in: {contract.LAUNCH}",
        )
