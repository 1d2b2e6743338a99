"""An argument parser that suggests the nearest known word for an unknown one, and prints the version."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from healthcheck import __version__, programs
from healthcheck.errors import ExitStatus
from healthcheck.nearest import hint

_INVALID_CHOICE = re.compile(r"invalid choice: '(?P<given>.*)' \(choose from (?P<known>.*)\)", re.DOTALL)
_CHECKOUT = Path(__file__).resolve().parents[2]
_GIT_S = 5.0


class Parser(argparse.ArgumentParser):
    """Asks "did you mean" for a wrong command, choice or option, and says how to list the right ones."""

    def error(self, message: str) -> NoReturn:
        """Print the message with a suggestion; exit with status 2."""
        wrong = _INVALID_CHOICE.search(message)
        if wrong:
            known = [word.strip(" '") for word in wrong["known"].split(",")]
            said = f"{wrong['given']!r} is not one of {', '.join(known)}{hint(wrong['given'], known)}"
            message = message[: wrong.start()] + said
        self.exit(ExitStatus.WRONG_USAGE, f"{self.prog}: {message}\nsee `{self.prog} --help`\n")

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
