"""`npu-adapter completion`: a completion script for a shell, made from the parser."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck import catalogue, cli
from healthcheck.cli.places import new_place, place

_CHECK_METAVARS = {"ID", "CHECK-ID"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """An option, or a positional argument (no names), with its possible values.

    Attributes:
        choices: the possible values; empty if any text is valid.
        files: a file or folder is meant.
    """

    names: tuple[str, ...]
    help: str
    takes_value: bool
    choices: tuple[str, ...]
    files: bool


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]
    print("\n".join(script(commands())))
    return 0


def commands() -> dict[str, tuple[Word, ...]]:
    """The words of each command."""
    parser = cli.parser_for(cli.COMMANDS)
    subparsers = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))  # noqa: SLF001 - argparse shows it nowhere else
    checks = tuple(page.id for page in catalogue.pages())
    return {
        name: tuple(_word(action, checks) for action in command._actions)  # noqa: SLF001 - as above
        for name, command in subparsers.choices.items()
    }


def _word(action: argparse.Action, checks: tuple[str, ...]) -> Word:
    choices = checks if action.metavar in _CHECK_METAVARS else tuple(map(str, action.choices or ()))
    return Word(
        names=tuple(action.option_strings),
        help=(action.help or "")
        .replace("%(default)s", str(action.default))
        .replace("%(default)g", str(action.default)),
        takes_value=action.nargs != 0,
        choices=choices,
        files=action.type in {place, new_place} or str(action.metavar) in {"FILE", "DIR", "R"},
    )


def _options(words: tuple[Word, ...]) -> list[str]:
    return [name for word in words for name in word.names]


def _places(words: tuple[Word, ...]) -> list[Word]:
    return [word for word in words if not word.names]


def _bash(table: dict[str, tuple[Word, ...]]) -> Iterator[str]:
    yield textwrap.dedent("""\
        _npu_adapter() {
            local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
            COMPREPLY=()
            if [[ $COMP_CWORD -eq 1 ]]; then""")
    yield f"        COMPREPLY=($(compgen -W '{' '.join([*table, '--help', '--version'])}' -- \"$word\"))"
    yield "        return\n    fi\n    case $command:$before in"
    for name, words in table.items():
        for word in words:
            if word.names and word.takes_value:
                yield f"    {'|'.join(f'{name}:{option}' for option in word.names)}) {_bash_value(word)} return ;;"
    yield "    esac\n    case $command:$word in"
    for name, words in table.items():
        yield f"    {name}:-*) COMPREPLY=($(compgen -W '{' '.join(_options(words))}' -- \"$word\")) ;;"
        for first in _places(words)[:1]:
            yield f"    {name}:*) {_bash_value(first)} ;;"
    yield "    esac\n}\ncomplete -o filenames -F _npu_adapter npu-adapter"


def _bash_value(word: Word) -> str:
    if word.choices:
        return (
            f"compopt +o filenames 2>/dev/null; COMPREPLY=($(compgen -W '{' '.join(word.choices)}' -- \"$word\"));"
        )
    return 'COMPREPLY=($(compgen -f -- "$word"));' if word.files else ":;"


def _zsh(table: dict[str, tuple[Word, ...]]) -> Iterator[str]:
    yield "#compdef npu-adapter\n_npu-adapter() {\n    local -a commands\n    commands=("
    for name in table:
        yield f"        {_quoted(f'{name}:{cli.COMMANDS[name]}')}"
    yield "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi"
    yield "    local command=$words[2]\n    shift words; (( CURRENT-- ))\n    case $command in"
    for name, words in table.items():
        yield f"    {name}) _arguments -s \\"
        for word in words:
            yield from (f"        {_quoted(spec)} \\" for spec in _zsh_specs(word))
        yield "        ;;"
    yield "    esac\n}"
    yield 'if [ "$funcstack[1]" = _npu-adapter ]; then _npu-adapter "$@"; else compdef _npu-adapter npu-adapter; fi'


def _zsh_specs(word: Word) -> Iterator[str]:
    action = f"({' '.join(word.choices)})" if word.choices else "_files" if word.files else " "
    if not word.names:
        yield f":{'value' if word.choices else 'argument'}:{action}"
    for name in word.names:
        said = word.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
        yield f"*{name}[{said}]" + (f":value:{action}" if word.takes_value else "")


def _fish(table: dict[str, tuple[Word, ...]]) -> Iterator[str]:
    yield "complete -c npu-adapter -f"
    for name in table:
        yield f"complete -c npu-adapter -n __fish_use_subcommand -a {name} -d {_quoted(cli.COMMANDS[name])}"
    for name, words in table.items():
        for word in words:
            yield " ".join(_fish_parts(name, word))


def _fish_parts(command: str, word: Word) -> Iterator[str]:
    yield f"complete -c npu-adapter -n '__fish_seen_subcommand_from {command}'"
    for name in word.names:
        yield f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
    if word.names and word.takes_value:
        yield "-r"
    if word.choices:
        yield f"-a {_quoted(' '.join(word.choices))}"
    elif word.files:
        yield "-F"
    if word.names:
        yield f"-d {_quoted(word.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
