"""repo/deploy-sh-present: deploy.sh is at the root of the repository."""

from __future__ import annotations

import os
import shlex

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
from healthcheck.stages.repo.facts import Kind, Submission
from healthcheck.text.messages import msg

LFS_POINTER = b"version https://git-lfs.github.com/spec/"


@check(
    "repo/deploy-sh-present",
    msg("deploy.sh is at the root of the repository"),
    rule=contract.ROOT_FILES,
    why=msg(
        "The service starts a submission by running deploy.sh from the root of the repository."
    ),
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
    kind, name = submission.deploy_sh_kind, contract.ENTRY_POINT
    expected: str = msg("a file {name} at the root of the repository", name=name)
    link, data = repr(submission.deploy_sh_link), submission.deploy_sh or b""
    where, rule = "", None
    if kind is Kind.MISSING:
        expected, seen, fix, where = _missing(submission, expected)
    elif kind is Kind.FOLDER:
        inside = (
            path
            for path in submission.paths
            if path.startswith(f"{name}/") and path.endswith(".sh")
        )
        moved = next((shlex.quote(f"scripts/{path.partition('/')[2]}") for path in inside), "")
        move = (
            msg("git mv {name} scripts && git mv {rest} {name}", name=name, rest=moved)
            if moved
            else ""
        )
        seen, fix = (
            msg("{name} is a folder", name=name),
            move or msg("replace the folder with a script {name}", name=name),
        )
    elif kind is Kind.LINK_OUT:
        seen = msg(
            "{name} is a link to {deploy_sh_link}, which the repository does not hold",
            name=name,
            deploy_sh_link=link,
        )
        fix = msg(
            "rm {name}, copy the script itself to {name}, and commit it: git add {name} && git commit",
            name=name,
        )
    elif kind is Kind.OTHER:
        seen, fix = (
            msg("{name} is not a regular file", name=name),
            msg("replace it with a script {name}", name=name),
        )
    elif not data.strip():
        expected, seen = msg("a script that starts the server"), msg("{name} is empty", name=name)
        fix = msg("write the launch command into it, such as: {launch}", launch=contract.LAUNCH)
        rule = contract.STARTS_THE_SERVICE
    elif data.startswith(LFS_POINTER):
        expected, where = msg("{expected}, which every clone has", expected=expected), f"{name}:1"
        seen = msg(
            "{name} is a Git LFS pointer: a clone without Git LFS gets these three lines", name=name
        )
        fix = msg(
            "remove it from the patterns in .gitattributes, then: git add --renormalize {name} && git commit",
            name=name,
        )
    else:
        return
    yield fail(expected=expected, seen=seen, fix=fix, where=where, rule=rule)


def _missing(submission: Submission, expected: str) -> tuple[str, str, str, str]:
    """The expectation, what was seen, the repair, and the place."""
    name = contract.ENTRY_POINT
    if (
        submission.commit
        and os.path.lexists(submission.root / name)
        and name in os.listdir(submission.root)
    ):
        ignored = name in submission.ignored
        seen = msg(
            "{name} is in the working copy but not in commit {commit}",
            name=name,
            commit=submission.commit[:12],
        )
        fix = msg(
            'git add {value}{name} && git commit -m "Add {name}"',
            value="-f " if ignored else "",
            name=name,
        )
        seen = msg("{seen}: .gitignore names it", seen=seen) if ignored else seen
        return msg("{expected}, committed", expected=expected), seen, fix, ""
    if submission.deploy_sh_elsewhere:
        found, *others = submission.deploy_sh_elsewhere
        more = msg(" (and {more} more of that name)", more=len(others)) if others else ""
        move = msg(
            "{move} {found} {name}",
            move=msg("git mv") if submission.commit else "mv",
            found=shlex.quote(found),
            name=name,
        )
        seen = msg("{found}{value}, but no {name} at the root", found=found, value=more, name=name)
        fix = move + (
            msg(", and make its relative paths start from the root") if "/" in found else ""
        )
        return expected, seen, fix, found
    seen = msg("no {name} among {paths} files", name=name, paths=len(submission.paths))
    launch = contract.LAUNCH
    fix = msg(
        "`npu-adapter new` makes a repository with one; or write a script that ends in: {launch}",
        launch=launch,
    )
    return expected, seen, fix, ""
