"""Exact edits that keep deploy.sh running for as long as its server does."""

from __future__ import annotations

import re

from healthcheck import contract
from healthcheck.core.edits import inserted_below, replaced
from healthcheck.core.records import Edit
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Command, Script

_BACKGROUND = re.compile(r"[ \t]*&(?![&>])")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_WITH_VALUE = {"-k", "-s", "--kill-after", "--signal"}
_FORGET = {"disown", "setsid"}
"""Commands after which a shell does not wait for its child."""


def edits(text: str, place: str, status: int) -> tuple[Edit, ...]:
    """Have deploy.sh wait for the server that it starts in the background; none if another repair may be meant."""
    script = shell.read(text)
    command = _command(script, place)
    sign = _background_sign(script, command) if command else None
    if command is None or sign is None or "\r" in text:
        return ()
    if command.words[0].text == "exec":
        start = (
            sign.start() if text[sign.end() :].partition("\n")[0].strip() == "" else sign.end() - 1
        )
        return (replaced(contract.ENTRY_POINT, text, start, sign.end(), ""),)
    if any(True for _ in script.runs(*_FORGET)) or command.node.inside(
        "subshell", "function_definition", "pipeline"
    ):
        return ()
    return _waiting(
        script, deploy_sh.ending_lines(text, deploy_sh.line_number(place), status), status
    )


def _waiting(script: Script, ends: tuple[int, ...], status: int) -> tuple[Edit, ...]:
    """End the script in `wait`, in place of the exit in one of the lines that end it."""
    if ends:
        found = [each for each in script.runs("exit") if script.line(each.start) == ends[0]]
        if len(ends) > 1 or len(found) != 1 or found[0].node.parent is not script.nodes[0]:
            return ()
        first, last = found[0].words[0], found[0].words[-1]
        return (replaced(contract.ENTRY_POINT, script.text, first.start, last.end, "wait"),)
    if status:
        return ()
    return (
        inserted_below(contract.ENTRY_POINT, len(script.text.rstrip("\n").split("\n")), "wait"),
    )


def without_limit(text: str, place: str) -> tuple[Edit, ...]:
    """Remove `timeout` with its options and the duration before the server's command."""
    script = shell.read(text)
    command = _command(script, place)
    if command is None or "\r" in text:
        return ()
    words = command.words
    at = next((at for at, word in enumerate(words) if word.text == "timeout"), None)
    if at is None:
        return ()
    duration = at + 1
    while duration < len(words) and words[duration].text.startswith("-"):
        duration += 2 if words[duration].text in _WITH_VALUE else 1
    if duration + 1 >= len(words) or not _DURATION.fullmatch(words[duration].text):
        return ()
    return (replaced(contract.ENTRY_POINT, text, words[at].start, words[duration + 1].start, ""),)


def _command(script: Script, place: str) -> Command | None:
    """The only command that a line of deploy.sh belongs to."""
    line = deploy_sh.line_number(place)
    at = [
        command
        for command in script.commands()
        if command.node.kind == "command"
        and script.line(command.start) <= line <= script.line(command.words[-1].end)
    ]
    return at[0] if len(at) == 1 else None


def _background_sign(script: Script, command: Command) -> re.Match[str] | None:
    """The `&` behind a command and its redirections; None without one."""
    node = command.node
    if node.parent is not None and node.parent.kind == "redirected_statement":
        node = node.parent
    return _BACKGROUND.match(script.text, max(node.end, command.words[-1].end))
