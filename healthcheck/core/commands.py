"""Repairs that have a shell command to paste.

fix = Commanded(msg("commit {file}", file="prod.env"), "git add -f prod.env && git commit -m 'Add prod.env'")
yield fail(expected=expected, seen=seen, fix=fix)    # Finding.fix has the words, Finding.command the command
"""

from __future__ import annotations

import shlex

from healthcheck.text.messages import Message


class Commanded(Message):
    """A repair in words with its shell command; as a text, both are on one line.

    Finding.command says in which folder the command runs.
    """

    __slots__ = ("command", "words")
    words: str
    command: str

    def __new__(cls, words: str, command: str) -> Commanded:  # noqa: PYI034 - Self is in typing since 3.11
        self: Commanded = super().__new__(cls, "{label}: {text}", words, command)  # type: ignore[assignment]
        self.words, self.command = words, command
        return self

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.words, self.command


def file_words(*paths: str) -> str:
    """The words of a shell for files of a repository.

    "./" goes before a name that a program reads as an option, or git as a pathspec with magic.
    """
    return shlex.join(f"./{path}" if path.startswith(("-", ":")) else path for path in paths)


def words_of(repair: str) -> str:
    """The words of a repair."""
    return repair.words if isinstance(repair, Commanded) else repair


def command_of(repair: str) -> str:
    """The command of a repair; "" if it is in words only."""
    return repair.command if isinstance(repair, Commanded) else ""


def in_folder(command: str, folder: str) -> str:
    """The command for a shell in another folder, which stays in its own; `folder` is "" for the current one."""
    return f"(cd {shlex.quote(folder)} && {command})" if command and folder else command
