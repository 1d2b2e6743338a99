"""`npu-adapter man`: the manual page, made from the help of all commands."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from healthcheck import __version__, cli
from healthcheck.cli.parsing import USAGE
from healthcheck.language import translation_of_the_process
from healthcheck.messages import msg

SECTIONS = (msg("NAME"), msg("SYNOPSIS"), msg("DESCRIPTION"), msg("COMMANDS"), msg("EXIT STATUS"))
PURPOSE = msg("scaffold, verify and validate model adapter repositories for Ascend NPU evaluation services")
MORE = msg("Each command prints its own help with --help; `npu-adapter explain` describes a check.")
NO_VERDICT = msg("A command without a verdict has the meanings that stand with it.")
_BROKEN = re.compile(r"(?<=[，。；：])\n")
"""A line of Chinese goes on without a blank."""


def run(options: argparse.Namespace) -> int:
    """Print the page."""
    del options
    print("\n".join(page()))
    return 0


def page() -> Iterator[str]:
    """The lines of the page, in the man macros of roff."""
    parser = cli.parser_for(cli.COMMANDS)
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))  # noqa: SLF001 - argparse shows it nowhere else
    say = translation_of_the_process().look_up
    yield f'''.TH NPU-ADAPTER 1 "" "npu-adapter-kit {__version__}" "{say(msg("User Commands"))}"'''
    yield ".nh"
    name, synopsis, description, commands, status = map(say, SECTIONS)
    yield f".SH {name}"
    yield f"npu-adapter \\- {say(PURPOSE)}"
    yield f".SH {synopsis}"
    yield ".B npu-adapter"
    yield "\\fICOMMAND\\fR [\\fIOPTION\\fR]..."
    yield f".SH {description}"
    yield from _prose(say(parser.description or ""))
    yield from _prose(say(MORE))
    yield f".SH {commands}"
    for command_name, command in subparsers.choices.items():
        yield f".SS {_text(command_name)}"
        yield from _command(command)
    yield f".SH {status}"
    yield from _verbatim(say(cli.EXIT_STATUSES).partition("\n")[2])
    yield say(NO_VERDICT)


def _command(command: argparse.ArgumentParser) -> Iterator[str]:
    say = translation_of_the_process().look_up
    yield from _prose(say(command.description or ""))
    yield from _verbatim(_usage(command))
    for action in command._actions:  # noqa: SLF001 - as above
        if action.dest == "help" or action.help == argparse.SUPPRESS:
            continue
        yield ".TP"
        yield f".B {_text(_invocation(action))}"
        yield _text(_help(command, action)) or "\\&"
    if command.epilog and command.epilog != cli.EXIT_STATUSES:
        yield ".PP"
        yield from _verbatim(say(command.epilog))


def _usage(command: argparse.ArgumentParser) -> str:
    return command.format_usage().removeprefix(translation_of_the_process().look_up(USAGE))


def _invocation(action: argparse.Action) -> str:
    """The option as it is typed: `-o, --out DIR`."""
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""
    value = str(action.metavar or choices or action.dest.upper())
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + (f" {value}" if action.nargs != 0 else "")


def _help(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = command._get_formatter()._expand_help(action) if action.help else ""  # noqa: SLF001 - as above
    return " ".join(text.split())


def _prose(text: str) -> Iterator[str]:
    yield ".PP"
    yield _text(" ".join(_BROKEN.sub("", text).split()))


def _verbatim(text: str) -> Iterator[str]:
    yield ".nf"
    yield from map(_text, text.rstrip("\n").split("\n"))
    yield ".fi"


def _text(text: str) -> str:
    """Text in which roff sees no request and no escape, and keeps hyphens that can be copied."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.startswith((".", "'")) else plain
