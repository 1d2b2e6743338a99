"""The options of `npu-adapter new`."""

from __future__ import annotations

import argparse

from healthcheck import contract
from healthcheck.cli.options.plan import machine_arguments
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.cli.places import new_place
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "my-adapter", "my-adapter --task image-text-to-text --defaults", "--here")
    parser.epilog = exit_statuses({0: msg("made"), 2: msg("wrong usage; nothing was made")})
    parser.add_argument(
        "destination", metavar="DEST", nargs="?", type=new_place,
        help=msg("a folder that does not exist, or is empty, or an empty clone"),
    )  # fmt: skip
    parser.add_argument(
        "--here", action="store_true",
        help=msg("add what is missing to an existing repository, DEST or this folder, and overwrite nothing"),
    )  # fmt: skip
    parser.add_argument("--task", metavar="CODE", help=" | ".join(t.value for t in contract.Task))
    parser.add_argument(
        "--data",
        metavar="K=V",
        action="append",
        default=[],
        help=msg("an answer to a question of the template"),
    )
    parser.add_argument(
        "--defaults", action="store_true", help=msg("ask nothing: use the defaults")
    )
    parser.add_argument(
        "--template",
        metavar="FORM",
        help=msg(
            "plain: deploy.sh has the launch line (default); planned: an adapter plans it at each start; or a git "
            "address or folder with another template"
        ),
    )
    machine_arguments(parser.add_argument_group(msg("what a plain deploy.sh is planned for")))
