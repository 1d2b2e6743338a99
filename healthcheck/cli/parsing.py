"""An argument parser that suggests the nearest known word for an unknown one, and prints the version."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from healthcheck import __version__, contract
from healthcheck.cli.places import place
from healthcheck.errors import ExitStatus
from healthcheck.system import programs
from healthcheck.text.did_you_mean import hint
from healthcheck.text.language import VARIABLE, Language, translation_of_the_process, wrapped
from healthcheck.text.messages import Capitalised, Message, joined, msg

_CHECKOUT = Path(__file__).resolve().parents[2]
_GIT_S = 5.0
LANGUAGE, SERVICE, HELP_ALL = "--lang", "--service", "--help-all"
USAGE = msg("usage: ")
OF_ARGPARSE = (msg("positional arguments"), msg("options"), msg("show this help message and exit"))
"""argparse's own texts in a help."""


class Help(argparse.RawDescriptionHelpFormatter):
    """The help in the user's language, wrapped by columns; `begin_help` says what it begins with and leaves out."""

    def __init__(
        self,
        prog: str,
        examples: Sequence[str] = (),
        everyday: Collection[str] = (),
        groups: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        super().__init__(prog)
        self._say = translation_of_the_process().look_up
        self._headings: list[str] = []
        self._examples = examples
        self._shown = {"--help", HELP_ALL, *everyday} if everyday else set()
        self._groups = groups

    def _shows(self, action: argparse.Action) -> bool:
        names = {*action.option_strings}
        if names and self._shown:
            return not names.isdisjoint(self._shown)
        return HELP_ALL not in names

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """Add the examples, and the usage with a translated "usage:"."""
        if prefix is None and self._examples:
            self.add_text(
                joined(
                    "\n",
                    [
                        msg("examples:"),
                        *(f"  {self._prog} {each}".rstrip() for each in self._examples),
                    ],
                )
            )
        shown = list(filter(self._shows, actions))
        super().add_usage(usage, shown, groups, self._say(USAGE) if prefix is None else prefix)

    def add_argument(self, action: argparse.Action) -> None:
        """Add an argument that is shown, or the commands in their groups."""
        if self._groups and isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - it has no other name
            commands = {each.dest: each for each in self._iter_indented_subactions(action)}
            for heading, names in self._groups.items():
                self.start_section(heading)
                self.add_arguments(commands[name] for name in names)
                self.end_section()
        elif self._shows(action):
            super().add_argument(action)

    def start_section(self, heading: str | None) -> None:
        """Begin a group of options with a translated heading."""
        if heading:
            heading = self._say(heading)
            self._headings.append(heading)
        super().start_section(heading)

    def format_help(self) -> str:
        """The whole help, with a translated colon after each heading, which argparse writes itself."""
        text = super().format_help()
        for heading in self._headings:
            translated = self._say(msg("{heading}:", heading=heading))
            text = re.sub(f"(?m)^( *){re.escape(heading)}:$", rf"\1{translated}", text)
        return text

    def add_text(self, text: str | None) -> None:
        """Add a translated description or epilog."""
        super().add_text(self._say(text) if text else text)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return self._say(action.help) if action.help else action.help

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)


def begin_help(
    parser: argparse.ArgumentParser,
    *examples: str,
    everyday: Collection[str] = (),
    groups: Mapping[str, Collection[str]] | None = None,
) -> None:
    """Begin a command's help with what a person would type after its name.

    `everyday` are the options that `--help` shows, where it leaves the others to `--help-all`; `groups` are the
    commands by heading.
    """
    parser.formatter_class = partial(Help, examples=examples, everyday=everyday, groups=groups)


class WholeHelp(argparse.Action):
    """`--help-all`: the help with every option."""

    def __call__(self, *given: Any, **_: Any) -> None:
        parser: Any = given[0]
        parser.formatter_class = partial(parser.formatter_class, everyday=())
        parser.print_help()
        parser.exit()


def help_all_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--help-all`, for all commands alike."""
    parser.add_argument(HELP_ALL, action=WholeHelp, nargs=0, default=argparse.SUPPRESS, dest=argparse.SUPPRESS,
                        help=msg("show the options that are seldom needed, too"))  # fmt: skip


class Parser(argparse.ArgumentParser):
    """Asks "did you mean" for an unknown command, choice or option, and refers to the help."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{"formatter_class": Help, "exit_on_error": False, **keywords})

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; keep a refusal as a message, which argparse would make plain text before it calls `error`."""
        try:
            return super().parse_known_args(args, namespace)
        except argparse.ArgumentError as refusal:
            said = as_message(refusal.message)
            name = refusal.argument_name
            self.error(msg("argument {name}: {said}", name=name, said=said) if name else said)

    def error(self, message: str) -> NoReturn:
        """Print the message; exit with status 2."""
        say = translation_of_the_process().say
        see = say(msg("see"))
        refusal = f"{self.prog}: {say(as_message(message))}\n{see} `{self.prog} --help`\n"
        self.exit(ExitStatus.WRONG_USAGE, refusal)

    def unknown(self, words: list[str]) -> NoReturn:
        """Refuse words that no option or argument takes."""
        options = [name for action in self._actions for name in action.option_strings]
        first = next((word.partition("=")[0] for word in words if word.startswith("-")), "")
        self.error(
            msg(
                "unrecognized arguments: {words}{hint}",
                words=" ".join(words),
                hint=hint(first, options),
            )
        )


_REFUSALS = (
    msg("expected one argument"),
    msg("expected at most one argument"),
    msg("expected at least one argument"),
    msg("expected {count} arguments"),
    msg("not allowed with argument {other}"),
    msg("ignored explicit argument {given}"),
    msg("invalid {kind} value: {given}"),
    msg("ambiguous option: {given} could match {known}"),
    msg("the following arguments are required: {names}"),
    msg("one of the arguments {names} is required"),
    msg("unrecognized arguments: {words}"),
)
"""The refusals of argparse."""
_INVALID_CHOICE = re.compile(r"invalid choice: (.*) \(choose from (.*)\)", re.DOTALL)


def as_message(refusal: str) -> str:
    """A refusal of argparse as a message; an unknown word gets the nearest known one."""
    if isinstance(refusal, Message):
        return refusal
    choice = _INVALID_CHOICE.fullmatch(refusal)
    if choice:
        known = [word.strip(" '") for word in choice[2].split(",")]
        near = hint(choice[1].strip("'"), known)
        return msg(
            "{wrong} is not one of {known}{hint}",
            wrong=choice[1],
            known=", ".join(known),
            hint=near,
        )
    for form in _REFUSALS:
        said = re.fullmatch(re.sub(r"\\{\w+\\}", "(.*?)", re.escape(form)), refusal, re.DOTALL)
        if said:
            return Message(form.template, *said.groups())
    return refusal


def sentence(text: str) -> Message:
    return msg("{sentence}.", sentence=Capitalised(text))


def exit_statuses(meanings: Mapping[int, Message]) -> Message:
    """The end of a command's help: the meaning of each exit status; any command can end with 4."""
    said = {**meanings, ExitStatus.KIT_FAILED: msg("the kit itself failed")}
    lines = (
        msg("  {status:d}  {meaning}", status=status, meaning=meaning)
        for status, meaning in said.items()
    )
    return joined("\n", [msg("exit status:"), *lines])


def version() -> str:
    """The kit's version, and the commit if it runs from a checkout."""
    commit = _git("rev-parse", "--short=12", "HEAD") if (_CHECKOUT / ".git").exists() else ""
    if not commit:
        return f"npu-adapter-kit {__version__}"
    changed = (
        msg(", with uncommitted changes")
        if _git("status", "--porcelain", "--untracked-files=no")
        else ""
    )
    return msg(
        "npu-adapter-kit {version} (commit {commit}{changed})",
        version=__version__,
        commit=commit,
        changed=changed,
    )


def _git(*arguments: str) -> str:
    import subprocess  # noqa: PLC0415 - only this command needs it

    command = (
        programs.find_or_name("git"),
        "--no-optional-locks",
        "-C",
        str(_CHECKOUT),
        *arguments,
    )
    try:
        done = subprocess.run(
            command, cwd="/", capture_output=True, text=True, timeout=_GIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


class InLanguage(argparse.Action):
    """`--lang`: sets the language of this process and its children."""

    def __call__(self, *given: Any, **_: Any) -> None:
        os.environ[VARIABLE] = given[2]


def take_language(arguments: Sequence[str]) -> None:
    """Apply `--lang` before parsing: a refusal or `--help` may end the parsing before it."""
    for word, after in zip(arguments, (*arguments[1:], ""), strict=False):
        option, _, value = word.partition("=")
        chosen = value or after
        if option == LANGUAGE and chosen in {language.value for language in Language}:
            os.environ[VARIABLE] = chosen


def language_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--lang`, for all commands alike."""
    parser.add_argument(
        LANGUAGE,
        action=InLanguage,
        choices=[language.value for language in Language],
        default=argparse.SUPPRESS,
        metavar="LANG",
        help=msg("en or zh (default: that of the locale)"),
    )


class ForService(argparse.Action):
    """`--service`, which `service_asked` has taken before."""

    def __call__(self, *given: Any, **_: Any) -> None:
        """Keep it; an abbreviation was not taken."""
        if contract.service().file != str(given[2]):
            given[0].error(msg("write {option} in full", option=SERVICE))
        setattr(given[1], self.dest, given[2])


def service_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--service`, which means the same wherever it is; `service_asked` takes it."""
    parser.add_argument(
        SERVICE, type=place, action=ForService, default=argparse.SUPPRESS, metavar="FILE",
        help=msg("the profile of the service that judges, in TOML (default: the public page's)"),
    )  # fmt: skip


@contextlib.contextmanager
def service_asked(arguments: Sequence[str]) -> Iterator[None]:
    """Heed `--service` before anything is parsed, so that helps have its figures, until the command is done.

    Raises:
        UsageError: the file is not a profile.
    """
    asked = ""
    for word, after in zip(arguments, (*arguments[1:], ""), strict=False):
        option, equals, value = word.partition("=")
        asked = (value if equals else after) if option == SERVICE else asked
    if not asked:
        yield
        return
    from healthcheck.verify import service  # noqa: PLC0415 - most runs judge by the public page

    with contract.judging_for(service.from_file(Path(asked))):
        yield


class Version(argparse.Action):
    """`--version`, computed on demand only."""

    def __call__(self, *given: Any, **_: Any) -> None:
        print(version())
        given[0].exit()
