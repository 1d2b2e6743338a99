"""An argument parser that suggests the nearest known word for an unknown one, and prints the version."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from healthcheck import __version__, programs
from healthcheck.errors import ExitStatus
from healthcheck.language import VARIABLE, Language, of_the_process, phrases_of_the_process, wrapped
from healthcheck.nearest import hint

_INVALID_CHOICE = re.compile(r"invalid choice: '(?P<given>.*)' \(choose from (?P<known>.*)\)", re.DOTALL)
_CHECKOUT = Path(__file__).resolve().parents[2]
_GIT_S = 5.0
_LANGUAGE = "--lang"


class Help(argparse.RawDescriptionHelpFormatter):
    """The help in the language of the user, whose lines are as wide as they look."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._say = of_the_process()

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None = None,
    ) -> None:
        """Add the usage, with the word in front."""
        super().add_usage(usage, actions, groups, self._say("usage: ") if prefix is None else prefix)

    def start_section(self, heading: str | None) -> None:
        """Begin a group of options."""
        super().start_section(self._say(heading) if heading else heading)

    def add_text(self, text: str | None) -> None:
        """Add a description or an epilog."""
        super().add_text(self._say(text) if text else text)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return self._say(action.help) if action.help else action.help

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)


class Parser(argparse.ArgumentParser):
    """Asks "did you mean" for a wrong command, choice or option, and says how to list the right ones."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**{"formatter_class": Help, **keywords})

    def error(self, message: str) -> NoReturn:
        """Print the message with a suggestion; exit with status 2."""
        say = phrases_of_the_process().say
        said = say(self.with_suggestion(message))
        self.exit(ExitStatus.WRONG_USAGE, f"{self.prog}: {said}\n{say('see')} `{self.prog} --help`\n")

    def with_suggestion(self, message: str) -> str:
        """What argparse says of a wrong word, with the nearest right one."""
        wrong = _INVALID_CHOICE.search(message)
        if wrong:
            known = [word.strip(" '") for word in wrong["known"].split(",")]
            said = f"{wrong['given']!r} is not one of {', '.join(known)}{hint(wrong['given'], known)}"
            message = message[: wrong.start()] + said
        return message

    def unknown(self, words: list[str]) -> NoReturn:
        """Refuse what no option or argument takes."""
        options = [name for action in self._actions for name in action.option_strings]
        first = next((word.partition("=")[0] for word in words if word.startswith("-")), "")
        self.error(f"unrecognized arguments: {' '.join(words)}{hint(first, options)}")


def exit_statuses(meanings: Mapping[int, str]) -> str:
    """The end of a command's help: what each of its exit statuses means; any command can end with 4."""
    said = {**meanings, ExitStatus.KIT_FAILED: "the kit itself failed"}
    return "\n".join(["exit status:", *(f"  {status:d}  {meaning}" for status, meaning in said.items())])


def version() -> str:
    """The kit's version, and the commit if it runs from a checkout."""
    commit = _git("rev-parse", "--short=12", "HEAD") if (_CHECKOUT / ".git").exists() else ""
    if not commit:
        return f"npu-adapter-kit {__version__}"
    changed = ", with uncommitted changes" if _git("status", "--porcelain", "--untracked-files=no") else ""
    return f"npu-adapter-kit {__version__} (commit {commit}{changed})"


def _git(*arguments: str) -> str:
    import subprocess  # noqa: PLC0415 - every command would pay for it

    command = (programs.find_or_name("git"), "--no-optional-locks", "-C", str(_CHECKOUT), *arguments)
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


class InLanguage(argparse.Action):
    """`--lang`: for this process and what it starts."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Take the language."""
        del parser, namespace, option_string
        os.environ[VARIABLE] = str(values)


def take_language(arguments: Sequence[str]) -> None:
    """Heed `--lang` before anything is parsed: a refusal and `--help` end the parsing before it may be reached."""
    for word, after in zip(arguments, (*arguments[1:], ""), strict=False):
        option, _, value = word.partition("=")
        chosen = value or after
        if option == _LANGUAGE and chosen in {language.value for language in Language}:
            os.environ[VARIABLE] = chosen


def language_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--lang`, which means the same wherever it is."""
    parser.add_argument(
        _LANGUAGE,
        action=InLanguage,
        choices=[language.value for language in Language],
        default=argparse.SUPPRESS,
        metavar="LANG",
        help="en or zh (default: that of the locale)",
    )


class Version(argparse.Action):
    """`--version`, worked out only when it is asked for."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Print it and exit."""
        del namespace, values, option_string
        print(version())
        parser.exit()
