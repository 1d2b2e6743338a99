"""repo/deploy-sh-present: deploy.sh is at the root of the repository."""

from __future__ import annotations

import os

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail
from healthcheck.core.commands import Commanded, file_words
from healthcheck.stages.repo.records import Kind, Submission
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
    fix: str
    if kind is Kind.MISSING:
        expected, seen, fix, where = _missing(submission, expected)
    elif kind is Kind.FOLDER:
        inside = (
            path
            for path in submission.paths
            if path.startswith(f"{name}/") and path.endswith(".sh")
        )
        moved = next((file_words(f"scripts/{path.partition('/')[2]}") for path in inside), "")
        seen = msg("{name} is a folder", name=name)
        fix = msg("replace the folder with a script {name}", name=name)
        if moved:
            command = f"git mv {name} scripts && git mv {moved} {name}"
            fix = Commanded(msg("move the folder, and its script to the root"), command)
    elif kind is Kind.LINK_OUT:
        seen = msg(
            "{name} is a link to {deploy_sh_link}, which the repository does not hold",
            name=name,
            deploy_sh_link=link,
        )
        fix = msg("replace the link with a copy of the script, and commit {name}", name=name)
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
        fix = Commanded(
            msg("remove it from the patterns in .gitattributes, then commit it as a file"),
            f"git add --renormalize {name} && git commit -am 'Store {name} without Git LFS'",
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
        force = "-f " if ignored else ""
        fix = Commanded(
            msg("commit {file}", file=name), f"git add {force}{name} && git commit -m 'Add {name}'"
        )
        seen = msg("{seen}: .gitignore names it", seen=seen) if ignored else seen
        return msg("{expected}, committed", expected=expected), seen, fix, ""
    if submission.deploy_sh_elsewhere:
        found, *others = submission.deploy_sh_elsewhere
        more = msg(" (and {more} more of that name)", more=len(others)) if others else ""
        move = "git mv" if submission.commit else "mv"
        moving: str = msg("move it to the root")
        if "/" in found:
            moving = msg("move it to the root, and make its relative paths start from there")
        seen = msg("{found}{value}, but no {name} at the root", found=found, value=more, name=name)
        fix = Commanded(moving, f"{move} {file_words(found)} {name}")
        return expected, seen, fix, found
    seen = msg("no {name} among {paths} files", name=name, paths=len(submission.paths))
    launch = contract.LAUNCH
    write = msg(
        "`npu-adapter new` makes a repository with one; or write a script that ends in: {launch}",
        launch=launch,
    )
    return expected, seen, write, ""
