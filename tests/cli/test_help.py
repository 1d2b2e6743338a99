"""The help of the commands: examples first, the options of every day, all of them on request."""

from __future__ import annotations

import re
import shlex

import pytest

from healthcheck import cli
from healthcheck.cli.options import probe, verify
from healthcheck.core.extensions import additions
from tests.support.commands import ran, whole_parser


def _added(command: str) -> tuple[str, ...]:
    """The options of extensions that the short help of a command shows."""
    return tuple(flag for added in additions(command) for flag in added.everyday)


EVERYDAY = {
    "verify": (*verify.EVERYDAY, *_added("verify")),
    "probe": (*probe.EVERYDAY, *_added("probe")),
}


def examples(shown: str) -> list[str]:
    """The commands with which a help begins."""
    assert shown.startswith("examples:\n  npu-adapter")
    return [line.strip() for line in shown.partition("\n\n")[0].splitlines()[1:]]


def options(shown: str) -> list[str]:
    """The options that a help lists."""
    return re.findall(r"^  (?:-h, )?(--[\w-]+)", shown, re.MULTILINE)


@pytest.mark.parametrize("command", ["", *cli.COMMANDS])
def test_a_help_begins_with_commands_that_are_right(command: str) -> None:
    shown = ran(*filter(None, [command]), "--help").stdout
    found = examples(shown)
    assert 2 <= len(found) <= 3
    parser = whole_parser()
    for example in found:
        words = shlex.split(example)
        assert words[1] == command or not command
        parser.parse_args(words[1:])


@pytest.mark.parametrize("command", EVERYDAY)
def test_the_short_help_has_fifteen_options_and_the_other_one_all(command: str) -> None:
    short, whole = (options(ran(command, option).stdout) for option in ("--help", "--help-all"))
    assert sorted(short) == sorted(["--help", "--help-all", *EVERYDAY[command]])
    assert len(EVERYDAY[command]) <= 18
    assert {*whole} > {*EVERYDAY[command], "--service", "--lang", "--seed", "--gate", "--junit"}
    usage = ran(command, "--help").stdout.partition("usage:")[2].partition("\n\n")[0]
    assert "--weights DIR" in usage or command == "probe"
    assert "--gate" not in usage


def test_an_option_that_the_short_help_leaves_out_is_taken() -> None:
    done = ran("verify", "--url", "http://h", "--until", "plan", "--seed", "9", "--lang", "en")
    assert "--url checks a running server: use --until endpoint" in done.stderr


def test_questions_about_a_measurement_are_of_probe_alone() -> None:
    verify, probe = (
        {*options(ran(command, "--help-all").stdout)} for command in ("verify", "probe")
    )
    assert {"--logprobs"} <= probe - verify


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_a_help_without_layers_is_the_whole(command: str) -> None:
    short, whole = (ran(command, option) for option in ("--help", "--help-all"))
    assert (whole.returncode, short.stdout) == (0, whole.stdout)
    assert "--help-all" not in whole.stdout


def test_the_commands_stand_in_groups() -> None:
    listed = ran("--help").stdout.partition("\ncommands:\n")[2].partition("\nexit status:")[0]
    heading, groups = "", {}
    for line in listed.splitlines():
        if found := re.fullmatch(r"  (\S.*):", line):
            heading = found[1]
        elif found := re.match(r"    (\w+) ", line):
            groups[found[1]] = heading
    assert groups.keys() >= cli.COMMANDS.keys()
    assert (groups["new"], groups["verify"]) == (
        "make a repository",
        "check a repository or a machine",
    )
    assert (groups["probe"], groups["explain"]) == ("measure a server", "explain and look up")


def test_without_a_command_the_help_is_printed() -> None:
    alone = ran()
    assert (alone.returncode, alone.stdout) == (2, "")
    assert alone.stderr.startswith(ran("--help").stdout)
    assert alone.stderr.endswith("npu-adapter: the following arguments are required: COMMAND\n")
