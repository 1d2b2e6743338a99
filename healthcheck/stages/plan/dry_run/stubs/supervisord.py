"""Stub for supervisord: starts the programs of its configuration, and prints its errors.

Observed with supervisor 4.3.0: a command is split like a shell's, and run without one, so that `$NAME` stays as it
is; `%(ENV_NAME)s` is a variable, of the program's own `environment` above all; " ;" begins a comment.
"""

from __future__ import annotations

import configparser
import contextlib
import glob
import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator

if __name__ == "__main__":
    sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan.dry_run.stubs import earlier_steps, note

_DEFAULTS = (
    "supervisord.conf",
    "etc/supervisord.conf",
    "/etc/supervisord.conf",
    "/etc/supervisor/supervisord.conf",
)
_PACKAGE = "supervisor"
_PAIR = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(\"[^\"]*\"|'[^']*'|[^,]*)\s*(?:,|$)")
_PLACE = re.compile(r"%(?:%|\(([\w.]+)\)(0?\d*[sd]))")
_FALSE = {"false", "no", "off", "0", "n", "f"}
_STANDARD_OUTPUT = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}
_MOST_PROGRAMS = 50


class _ConfigError(Exception):
    """What supervisord reports of its configuration."""


def main(arguments: list[str]) -> None:
    note.record("exec", "supervisord", *arguments)
    if {"-v", "--version"} & set(arguments):
        print("4.3.0")
        return
    if not _is_installed():
        print("sh: 1: supervisord: not found", file=sys.stderr)
        sys.exit(127)
    try:
        path = _path(_value(arguments, "-c", "--configuration"))
        config = _read(path)
        stays = bool({"-n", "--nodaemon"} & set(arguments)) or _is_true(
            config, "supervisord", "nodaemon", "false"
        )
        programs = list(_programs(config, os.path.dirname(os.path.abspath(path))))
    except _ConfigError as error:
        print(f"Error: {error}\nFor help, use supervisord -h", file=sys.stderr)
        sys.exit(2)
    for command, folder, environment, shows in programs:
        _start(command, folder, environment, shows=shows)
    while stays:
        signal.pause()


def _is_installed() -> bool:
    """Whether an earlier step installs the package; the image has none."""
    if _PACKAGE in earlier_steps.importable_names():
        return True
    asked = (words for _, _, _, *words in note.records())
    return any("install" in words and _PACKAGE in words for words in asked)


def _value(arguments: list[str], *options: str) -> str:
    for word, following in itertools.pairwise([*arguments, ""]):
        name, equals, value = word.partition("=")
        if word in options:
            return following
        if equals and name in options:
            return value
    return ""


def _path(given: str) -> str:
    if given and not os.path.isfile(given):
        raise _ConfigError(f"could not find config file {given}")
    found = given or next(filter(os.path.isfile, _DEFAULTS), "")
    if not found:
        raise _ConfigError(f"No config file found at default paths ({', '.join(_DEFAULTS)})")
    return found


def _read(path: str) -> configparser.RawConfigParser:
    config = configparser.RawConfigParser(inline_comment_prefixes=(";",), strict=False)
    try:
        config.read(path, encoding="utf-8")
        if not config.has_section("supervisord"):
            raise _ConfigError(".ini file does not include supervisord section")
        patterns = config.get("include", "files", fallback="").split()
        config.read(
            [
                each
                for pattern in patterns
                for each in sorted(glob.glob(os.path.join(os.path.dirname(path), pattern)))
            ],
            encoding="utf-8",
        )
    except (configparser.Error, UnicodeDecodeError) as error:
        raise _ConfigError(f"{error}") from error
    return config


def _is_true(config: configparser.RawConfigParser, section: str, name: str, default: str) -> bool:
    return config.get(section, name, fallback=default).strip().lower() not in _FALSE


def _programs(
    config: configparser.RawConfigParser, here: str
) -> Iterator[tuple[list[str], str, dict[str, str], bool]]:
    """The programs to start, by priority: command, folder, environment, and whether its output is shown."""
    names = [each for each in config.sections() if each.startswith("program:")]
    names.sort(key=lambda each: int(config.get(each, "priority", fallback="999")))
    for section in names[:_MOST_PROGRAMS]:
        if not config.has_option(section, "command"):
            raise _ConfigError(
                f"program section {section} does not specify a command in section '{section}'"
            )
        known = {f"ENV_{name}": value for name, value in os.environ.items()}
        known |= {
            "here": here,
            "program_name": section.partition(":")[2],
            "group_name": "",
            "process_num": "0",
        }
        own = _environment(
            _expanded(
                config.get(section, "environment", fallback=""), section, "environment", known
            )
        )
        known |= {f"ENV_{name}": value for name, value in own.items()}
        text = _expanded(config.get(section, "command"), section, "command", known)
        folder = _expanded(
            config.get(section, "directory", fallback=""), section, "directory", known
        )
        shows = config.get(section, "stdout_logfile", fallback="").strip() in _STANDARD_OUTPUT
        if _is_true(config, section, "autostart", "true"):
            try:
                yield shlex.split(text), folder, {**os.environ, **own}, shows
            except ValueError as error:
                print(f"INFO spawnerr: can't parse command {text!r}: {error}", file=sys.stderr)


def _environment(text: str) -> dict[str, str]:
    return {name: value.strip().strip("\"'") for name, value in _PAIR.findall(text)}


def _expanded(text: str, section: str, option: str, known: dict[str, str]) -> str:
    def place(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "%"
        if name not in known:
            unknown = f"contains names ({name!r}) which cannot be expanded"
            raise _ConfigError(f"Format string {text!r} for '{section}.{option}' {unknown}.")
        return known[name]

    return _PLACE.sub(place, text)


def _start(command: list[str], folder: str, environment: dict[str, str], *, shows: bool) -> None:
    """Start a program that outlives this process; supervisord only logs one that it cannot start."""
    output = None if shows else subprocess.DEVNULL
    with contextlib.suppress(OSError, ValueError, IndexError):
        subprocess.Popen(
            command, cwd=folder or None, env=environment, stdin=subprocess.DEVNULL, stdout=output,
        )  # fmt: skip
        return
    print(f"INFO spawnerr: can't find command {command[:1]}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[3:])
