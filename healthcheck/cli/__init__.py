"""The command line. Each command has two modules: one in `options` declares its options, one here runs it.

The first has `arguments(parser)`, the second `run(options) -> int`, the exit status. Only those of the command in
use are imported, for `--help` only the first. Extensions are searched if no command of the core is named.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from healthcheck.cli import outlets
from healthcheck.cli.parsing import (
    LANGUAGE,
    SERVICE,
    Parser,
    Version,
    begin_help,
    help_all_argument,
    language_argument,
    sentence,
    service_argument,
    service_asked,
    take_language,
)
from healthcheck.core import extensions
from healthcheck.core.extensions import Command, Group
from healthcheck.errors import Blocked, ExitStatus, KitError, KitFailure, UsageError, reason_of
from healthcheck.text.messages import msg

COMMANDS = {
    "new": (Group.MAKE, msg("make a new adapter repository from the template")),
    "plan": (
        Group.MAKE,
        msg("print the launch line for weights and a machine, with a reason for each option"),
    ),
    "update": (Group.MAKE, msg("bring a repository up to date with the template it was made from")),
    "verify": (Group.CHECK, msg("check a repository and its weights before submission")),
    "probe": (Group.MEASURE, msg("measure the accuracy of a running server")),
    "explain": (Group.EXPLAIN, msg("explain a check")),
    "service": (Group.EXPLAIN, msg("show the rules that judge, and where each is from")),
    "doctor": (
        Group.EXPLAIN,
        msg("show which optional parts of the kit's own environment are there"),
    ),
}
EXAMPLES = ("new my-adapter", "verify my-adapter --weights /data/Qwen3-8B", "explain plan/port")
EXIT_STATUSES = msg("""\
exit status:
  0  ready
  1  not ready
  2  wrong usage
  3  inconclusive: the evidence does not settle it, or something else was in
     the way
  4  the kit itself failed
""")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status. Errors that a user can cause never become a traceback."""
    with outlets.lasting():
        if sys.flags.optimize > 1:
            said = msg(
                "the pages of the checks are docstrings: run Python without -OO (PYTHONOPTIMIZE=2)"
            )
            return _say(said, ExitStatus.WRONG_USAGE)
        try:
            return _run(list(sys.argv[1:] if argv is None else argv))
        except Exception:  # noqa: BLE001 - Python's own exit status would be 1, which is "not ready"
            print(_shown(traceback.format_exc()), end="", file=sys.stderr)
            return ExitStatus.KIT_FAILED


def _run(arguments: list[str]) -> int:
    take_language(arguments)
    try:
        with service_asked(arguments):
            return _commanded(arguments)
    except UsageError as error:
        return _say(error, ExitStatus.WRONG_USAGE)


def _commanded(arguments: list[str]) -> int:
    asked = _command_in(arguments)
    with _ended_at_once_by_ctrl_c():
        added = {} if asked in COMMANDS else added_commands()
        parser = parser_for({asked}, added)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.unknown(unknown)
    if options.parser is parser:
        parser.print_help(sys.stderr)
        raise UsageError(msg("the following arguments are required: COMMAND"))
    with _ended_at_once_by_ctrl_c():
        run = (
            added[asked].run
            if asked in added
            else importlib.import_module(f"healthcheck.cli.{asked}").run
        )
    try:
        status: int = run(options)
    except UsageError as error:
        return _say(error, ExitStatus.WRONG_USAGE)
    except Blocked as error:
        return _say(error, ExitStatus.INCONCLUSIVE)
    except KitError as error:
        return _say(error, ExitStatus.KIT_FAILED)
    except KeyboardInterrupt:
        return _say(msg("interrupted"), ExitStatus.INCONCLUSIVE)
    except OSError as error:
        return _of_the_system(error)
    return status


def _command_in(arguments: Sequence[str]) -> str:
    """The first word that is neither an option nor the language nor a profile, "" if there is none."""
    for before, word in zip(("", *arguments), arguments, strict=False):
        takes_it = before[2:] and (LANGUAGE.startswith(before) or SERVICE.startswith(before))
        if not (word.startswith("-") or takes_it):
            return word
    return ""


def _of_the_system(error: OSError) -> int:
    """Report a system error: a removed folder or a path without permission is not a failure of the kit."""
    if not error.filename and _removed_from_under_us():
        gone = msg("the folder that this runs in was removed: change to one that is there")
        return _say(gone, ExitStatus.WRONG_USAGE)
    where = f" ({error.filename})" if error.filename else ""
    denied = bool(where) and isinstance(error, PermissionError)
    status = ExitStatus.WRONG_USAGE if denied else ExitStatus.KIT_FAILED
    return _say(msg("cannot go on: {reason}{where}", reason=reason_of(error), where=where), status)


def _removed_from_under_us() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


@contextlib.contextmanager
def _ended_at_once_by_ctrl_c() -> Iterator[None]:
    """While modules are imported and nothing has begun, let Ctrl-C end the process at once.

    As an exception it would become a traceback, or be lost in a callback of the import system.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _say(error: KitError | str, status: ExitStatus) -> ExitStatus:
    outlets.tell(_shown(str(error)))
    return status


def _shown(text: str) -> str:
    """The text without secrets and control characters: an error quotes its input."""
    from healthcheck.report.words import without_controls  # noqa: PLC0415 - most runs have no error to show
    from healthcheck.text.redact import redactor  # noqa: PLC0415

    return without_controls(redactor(os.environ)(text))


def added_commands() -> dict[str, Command]:
    """The commands of extensions, the kit's own first; one that cannot be loaded gives its error when it is run."""
    found: dict[str, Command] = {}
    for extension in (
        *extensions.own(extensions.COMMANDS),
        *extensions.installed(extensions.COMMANDS),
    ):
        if extension.name not in COMMANDS and extension.name not in found:
            try:
                found[extension.name] = extensions.command(extension)
            except KitFailure as error:
                found[extension.name] = _broken(error)
    return found


def _broken(error: KitFailure) -> Command:
    def refuse(_: argparse.Namespace) -> int:
        raise error

    return Command(
        summary=msg("(an extension that cannot be used)"), arguments=lambda _: None, run=refuse
    )


def parser_for(wanted: Collection[str], added: Mapping[str, Command]) -> Parser:
    """The parser of the command line; only the `wanted` commands have their options."""
    description = msg(
        "Scaffold, verify and validate model adapter repositories for Ascend NPU\n"
        "evaluation services. A pass here is a pass there."
    )
    parser = Parser(prog="npu-adapter", description=description, epilog=EXIT_STATUSES)
    language_argument(parser)
    service_argument(parser)
    parser.add_argument(
        "--version",
        action=Version,
        nargs=0,
        help=msg("show the version, and the commit of a checkout"),
    )
    parser.set_defaults(parser=parser)
    listed = {**COMMANDS, **{name: (each.group, each.summary) for name, each in added.items()}}
    begin_help(parser, *EXAMPLES, groups=_by_group(listed))
    commands = parser.add_subparsers(title=msg("commands"), metavar="COMMAND")
    for name, (_, text) in listed.items():
        command = commands.add_parser(
            name, help=text, description=sentence(text), epilog=EXIT_STATUSES
        )
        language_argument(command)
        service_argument(command)
        help_all_argument(command)
        if name in wanted:
            _arguments(name, added)(command)
            command.set_defaults(parser=command)
    return parser


def _by_group(listed: Mapping[str, tuple[Group, str]]) -> dict[str, list[str]]:
    """The names of the commands below the headings of the groups that have some."""
    groups = {
        each.value: [name for name, (group, _) in listed.items() if group is each] for each in Group
    }
    return {heading: names for heading, names in groups.items() if names}


def _arguments(
    name: str, added: Mapping[str, Command]
) -> Callable[[argparse.ArgumentParser], None]:
    if name in added:
        return added[name].arguments
    arguments: Callable[[argparse.ArgumentParser], None] = importlib.import_module(
        f"healthcheck.cli.options.{name}"
    ).arguments
    return arguments
