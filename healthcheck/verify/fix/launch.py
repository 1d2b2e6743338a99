"""Finds the launch command in deploy.sh and proposes edits of its plain words only.

Positions are characters of the script as it is read, one per byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.stages.plan.script import quotes as splits
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Command, Word
from healthcheck.verify.fix.edits import Edit

BEFORE = {"exec", "nohup", "time", "command", "setsid"}
GAP = re.compile(r"(?:[ \t]|\\\n)*")
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
VARIABLE = re.compile(r"\$\{?(\w+)")
PATH = re.compile(r"(?:\$(?:\w|\{\w+\})|[\w./:@+-])+")
"""Each character belongs to one alternative; otherwise a mismatch would be tried in 2**n ways."""
MANY_WORDS = re.compile(r'"?\$(?:@|\*|\{\w+\[[@*]\]\})"?')
DEFAULTED = re.compile(r"""["']?\$\{\w+:?-(?P<value>\d{1,5})\}["']?""")
LITERAL = re.compile(r"""(?P<quote>["']?)(?P<value>[\w.:/@+-]+)(?P=quote)""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The only command of a script that starts vLLM.

    Attributes:
        arguments: the words after `vllm serve`.
        names: how many served model names a run recorded; 0 if that is unknown.
        port: the port that a run recorded; 0 if that is unknown.
    """

    script: shell.Script
    command: Command
    arguments: tuple[Word, ...]
    names: int = 0
    port: int = 0


def find(script: shell.Script, line: int) -> Launch | None:
    """The launch command, if only one can be meant; `line` is where a run recorded it, 0 if unknown."""
    found = [launch for launch in _all(script) if not line or _spans(launch, line)]
    return found[0] if len(found) == 1 else None


def port(launch: Launch) -> Iterator[Edit]:
    """Replace a literal port that is not the service's, or such a default of a variable that a run used."""
    for value in _values(launch, "--port"):
        literal, default = LITERAL.fullmatch(value.text), DEFAULTED.fullmatch(value.text)
        if literal and literal["value"].isdigit() and int(literal["value"]) != contract.PORT:
            yield _replace(value, literal, str(contract.PORT))
        elif default and int(default["value"]) == launch.port != contract.PORT:
            yield _replace(value, default, str(contract.PORT))


def host(launch: Launch) -> Iterator[Edit]:
    """Replace a literal loopback address."""
    for value in _values(launch, "--host"):
        literal = LITERAL.fullmatch(value.text)
        if literal and literal["value"] in LOOPBACK:
            yield _replace(value, literal, "0.0.0.0")  # noqa: S104 - what the service needs


def served_name(launch: Launch) -> Iterator[Edit]:
    """Remove --served-model-name with its names, as many as a run recorded if words like "$@" follow."""
    words = launch.arguments
    at = _only(launch, "--served-model-name")
    if not at or contract.service().requested(""):
        return
    last = _last_value(words, at)
    if MANY_WORDS.fullmatch(words[last].text) and last - at == launch.names + 1:
        last -= 1  # it was empty in the run: only the words before it are names
    single = all(map(_one_word, words[at + 1 : last + 1])) or launch.names == last - at
    if "=" in words[at].text or (last > at and single):
        yield from _without(launch, at, last)


def no_api_key(launch: Launch) -> Iterator[Edit]:
    """Remove --api-key with its key, unless it is followed by several words, which may not all be keys."""
    at = _only(launch, "--api-key")
    last = _last_value(launch.arguments, at) if at else 0
    if at and (last == at + 1 or "=" in launch.arguments[at].text):
        yield from _without(launch, at, last)


def _only(launch: Launch, option: str) -> int:
    """The index of an option that occurs once, after the first word; 0 if there is none."""
    given = [at for at, word in enumerate(launch.arguments) if _name(word) == option]
    return given[0] if len(given) == 1 else 0


def _last_value(words: tuple[Word, ...], at: int) -> int:
    """The index of the last word that the option at index `at` may take."""
    last = at
    while "=" not in words[at].text and last + 1 < len(words) and not words[last + 1].text.startswith("-"):
        last += 1
    return last


def _without(launch: Launch, at: int, last: int) -> Iterator[Edit]:
    """Remove the words from one index to another with the gap before them, if only gaps are between them."""
    words, before = launch.arguments, launch.arguments[at - 1].end
    between = [launch.script.text[before : words[at].start]]
    between += [launch.script.text[words[i].end : words[i + 1].start] for i in range(at, last)]
    if all(GAP.fullmatch(text) for text in between):
        yield Edit(start=before, end=words[last].end, new=b"")


def quotes(launch: Launch) -> Iterator[Edit]:
    """Quote $MODEL_PATH, or a variable that holds it: a path with a blank would be split."""
    holders = splits.holders(launch.script.text, contract.MODEL_PATH_VARIABLE)
    for word in launch.arguments:
        name, equals, value = word.text.partition("=")
        value, start = (value, word.start + len(name) + 1) if equals else (name, word.start)
        held = {found[1] for found in VARIABLE.finditer(value)} & holders
        if held and PATH.fullmatch(value) and (not equals or re.fullmatch(r"--[\w-]+", name)):
            yield Edit(start=start, end=start + len(value), new=f'"{value}"'.encode("latin-1"))


def _all(script: shell.Script) -> Iterator[Launch]:
    for command in script.commands():
        words = list(command.words)
        while words and (words[0].text in BEFORE or shell.ASSIGNMENT.match(words[0].text)):
            words.pop(0)
        texts = [word.text for word in words]
        if texts[:2] == ["vllm", "serve"]:
            yield Launch(script=script, command=command, arguments=tuple(words[2:]))
        elif re.fullmatch(r"python3?", texts[0] if texts else "") and texts[1:3] == ["-m", API_SERVER]:
            yield Launch(script=script, command=command, arguments=tuple(words[3:]))


API_SERVER = "vllm.entrypoints.openai.api_server"


def _spans(launch: Launch, line: int) -> bool:
    first, last = launch.script.line(launch.command.start), launch.script.line(launch.command.words[-1].end)
    return first <= line <= last


def _name(word: Word) -> str:
    return word.text.partition("=")[0].replace("_", "-") if word.text.startswith("--") else ""


def _values(launch: Launch, option: str) -> Iterator[Word]:
    """The value of an option that occurs once, as a word or as the part of a word after the `=`."""
    given = [at for at, word in enumerate(launch.arguments) if _name(word) == option]
    if len(given) != 1:
        return
    word = launch.arguments[given[0]]
    name, equals, value = word.text.partition("=")
    if equals:
        start = word.start + len(name) + 1
        yield Word(start=start, end=word.end, text=value)
    elif given[0] + 1 < len(launch.arguments):
        yield launch.arguments[given[0] + 1]


def _one_word(word: Word) -> bool:
    """Whether a word is one argument whatever its variables hold, so that removing it removes just that."""
    return bool(LITERAL.fullmatch(word.text) or re.fullmatch(r'"[^"`()@*]*"|\'[^\']*\'|\$\w+|\$\{\w+\}', word.text))


def _replace(word: Word, literal: re.Match[str], new: str) -> Edit:
    return Edit(start=word.start + literal.start("value"), end=word.start + literal.end("value"), new=new.encode())
