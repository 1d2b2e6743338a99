"""repo/deploy-sh-present: deploy.sh is at the root of the repository."""

from __future__ import annotations

import os
import shlex

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
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
    kind = submission.deploy_sh_kind
    expected: str = msg("a file {name} at the root of the repository", NAME)
    link, data = repr(submission.deploy_sh_link), submission.deploy_sh or b""
    where, rule = "", None
    if kind is Kind.MISSING:
        expected, seen, fix, where = _missing(submission, expected)
    elif kind is Kind.FOLDER:
        inside = (path for path in submission.paths if path.startswith(f"{NAME}/") and path.endswith(".sh"))
        moved = next((shlex.quote(f"scripts/{path.partition('/')[2]}") for path in inside), "")
        move = msg("git mv {name} scripts && git mv {rest} {name}", NAME, moved) if moved else ""
        seen, fix = msg("{name} is a folder", NAME), move or msg("replace the folder with a script {name}", NAME)
    elif kind is Kind.LINK_OUT:
        seen = msg("{name} is a link to {deploy_sh_link}, which the repository does not hold", NAME, link)
        fix = msg("rm {name}, copy the script itself to {name}, and commit it: git add {name} && git commit", NAME)
    elif kind is Kind.OTHER:
        seen, fix = msg("{name} is not a regular file", NAME), msg("replace it with a script {name}", NAME)
    elif not data.strip():
        expected, seen = msg("a script that starts the server"), msg("{name} is empty", NAME)
        fix = msg("write the launch command into it, such as: {launch}", contract.LAUNCH)
        rule = contract.STARTS_THE_SERVICE
    elif data.startswith(LFS_POINTER):
        expected, where = msg("{expected}, which every clone has", expected), f"{NAME}:1"
        seen = msg("{name} is a Git LFS pointer: a clone without Git LFS gets these three lines", NAME)
        fix = msg(
            "remove it from the patterns in .gitattributes, then: git add --renormalize {name} && git commit", NAME
        )
    else:
        return
    yield fail(expected=expected, seen=seen, fix=fix, where=where, rule=rule)


def _missing(submission: Submission, expected: str) -> tuple[str, str, str, str]:
    """The expectation, what was seen, the repair, and the place."""
    if submission.commit and os.path.lexists(submission.root / NAME) and NAME in os.listdir(submission.root):
        ignored = NAME in submission.ignored
        seen = msg("{name} is in the working copy but not in commit {commit}", NAME, submission.commit[:12])
        fix = msg('git add {value}{name} && git commit -m "Add {name}"', "-f " if ignored else "", NAME)
        seen = msg("{seen}: .gitignore names it", seen) if ignored else seen
        return msg("{expected}, committed", expected), seen, fix, ""
    if submission.deploy_sh_elsewhere:
        found, *others = submission.deploy_sh_elsewhere
        more = msg(" (and {more} more of that name)", len(others)) if others else ""
        move = msg("{move} {found} {name}", msg("git mv") if submission.commit else "mv", shlex.quote(found), NAME)
        seen = msg("{found}{value}, but no {name} at the root", found, more, NAME)
        fix = move + (msg(", and make its relative paths start from the root") if "/" in found else "")
        return expected, seen, fix, found
    seen = msg("no {name} among {paths} files", NAME, len(submission.paths))
    launch = contract.LAUNCH
    fix = msg("`npu-adapter new` makes a repository with one; or write a script that ends in: {launch}", launch)
    return expected, seen, fix, ""
