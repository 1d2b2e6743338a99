"""repo/deploy-sh-present: deploy.sh is at the root of the repository."""

from __future__ import annotations

import os
import shlex

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
from healthcheck.core.records import Finding
from healthcheck.stages.repo.facts import Kind, Submission
from healthcheck.text.messages import msg

NAME = contract.ENTRY_POINT
LFS_POINTER = b"version https://git-lfs.github.com/spec/"


@check(
    "repo/deploy-sh-present",
    "deploy.sh is at the root of the repository",
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
    kind, expected = submission.deploy_sh_kind, msg("a file {name} at the root of the repository", NAME)
    link, data = repr(submission.deploy_sh_link), submission.deploy_sh or b""
    if kind is Kind.MISSING:
        yield _missing(submission, expected)
    elif kind is Kind.FOLDER:
        inside = (path for path in submission.paths if path.startswith(f"{NAME}/") and path.endswith(".sh"))
        moved = next((shlex.quote(f"scripts/{path.partition('/')[2]}") for path in inside), "")
        move = msg("git mv {name} scripts && git mv {rest} {name}", NAME, moved) if moved else ""
        fix = move or msg("replace the folder with a script {name}", NAME)
        yield fail(expected=expected, seen=msg("{name} is a folder", NAME), fix=fix)
    elif kind is Kind.LINK_OUT:
        yield fail(
            expected=expected,
            seen=msg("{name} is a link to {deploy_sh_link}, which the repository does not hold", NAME, link),
            fix=msg(
                "rm {name}, copy the script itself to {name}, and commit it: git add {name} && git commit", NAME
            ),
        )
    elif kind is Kind.OTHER:
        fix = msg("replace it with a script {name}", NAME)
        yield fail(expected=expected, seen=msg("{name} is not a regular file", NAME), fix=fix)
    elif not data.strip():
        yield fail(
            expected=msg("a script that starts the server"),
            seen=msg("{name} is empty", NAME),
            fix=msg("write the launch command into it, such as: {launch}", contract.LAUNCH),
            rule=contract.STARTS_THE_SERVICE,
        )
    elif data.startswith(LFS_POINTER):
        yield fail(
            expected=msg("{expected}, which every clone has", expected),
            seen=msg("{name} is a Git LFS pointer: a clone without Git LFS gets these three lines", NAME),
            fix=msg(
                "remove it from the patterns in .gitattributes, then: git add --renormalize {name} && git commit",
                NAME,
            ),
            where=f"{NAME}:1",
        )


def _missing(submission: Submission, expected: str) -> Finding:
    if submission.commit and os.path.lexists(submission.root / NAME) and NAME in os.listdir(submission.root):
        ignored = NAME in submission.ignored
        seen = msg("{name} is in the working copy but not in commit {commit}", NAME, submission.commit[:12])
        return fail(
            expected=msg("{expected}, committed", expected),
            seen=msg("{seen}: .gitignore names it", seen) if ignored else seen,
            fix=msg('git add {value}{name} && git commit -m "Add {name}"', "-f " if ignored else "", NAME),
        )
    if submission.deploy_sh_elsewhere:
        found, *others = submission.deploy_sh_elsewhere
        more = msg(" (and {more} more of that name)", len(others)) if others else ""
        move = msg("{move} {found} {name}", msg("git mv") if submission.commit else "mv", shlex.quote(found), NAME)
        return fail(
            expected=expected,
            seen=msg("{found}{value}, but no {name} at the root", found, more, NAME),
            fix=move + (msg(", and make its relative paths start from the root") if "/" in found else ""),
            where=found,
        )
    write = msg(
        "`npu-adapter new` makes a repository with one; or write a script that ends in: {launch}", contract.LAUNCH
    )
    return fail(
        expected=expected, seen=msg("no {name} among {paths} files", NAME, len(submission.paths)), fix=write
    )
