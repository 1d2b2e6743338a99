"""The options of `npu-adapter service`."""

from __future__ import annotations

import argparse

from healthcheck.cli import output
from healthcheck.cli.parsing import begin_help, exit_statuses, sentence
from healthcheck.cli.places import place
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "", "my-adapter", "--json -")
    said = msg(
        "show the rules that judge, and where each is from: the public page's, those of\n"
        "a profile (--service FILE, in TOML), or of the profile that a repository names.\n"
        "docs/service-profile.md says what a profile may have"
    )
    parser.description = sentence(said)
    parser.epilog = exit_statuses({0: msg("printed"), 2: msg("the profile cannot be used")})
    parser.add_argument(
        "repo", nargs="?", type=place, help=msg("a repository, whose own profile is shown")
    )
    output.json_argument(parser, msg("the profile"))
