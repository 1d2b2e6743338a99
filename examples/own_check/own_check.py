"""A check and a command of one's own: our licence header is in deploy.sh."""

import argparse
from pathlib import Path

from healthcheck.api import (
    Check,
    Command,
    ExitStatus,
    Findings,
    Stage,
    Submission,
    check,
    fail,
    msg,
    read_submission,
)

HEADER = "# SPDX-License-Identifier: Apache-2.0"


@check(
    "own/licence-header",
    "Our licence header is in deploy.sh",
    stage=Stage.REPO,
    why="Our releases are scanned for it.",
    requires=("repo/deploy-sh-present",),
)
def licence_header(submission: Submission) -> Findings:
    """The first five lines of deploy.sh have our licence header. Repair: insert it below the first line."""
    first = (submission.deploy_sh or b"").decode(errors="replace").splitlines()[:5]
    if HEADER not in first:
        yield fail(
            expected=HEADER,
            seen="\n".join(first),
            fix=msg("insert: {header}", header=HEADER),
            where="deploy.sh:2",
        )


def _folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", type=Path)


def _run(options: argparse.Namespace) -> int:
    print(HEADER)
    found = any(licence_header.run(read_submission(options.repo)))
    return ExitStatus.NOT_READY if found else ExitStatus.READY


CHECKS: tuple[Check[Submission], ...] = (licence_header,)
COMMAND = Command(
    summary="print our licence header, and whether deploy.sh has it", arguments=_folder, run=_run
)
