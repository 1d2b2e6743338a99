"""Stubs for click, typer and fire: they call the submission's function with what the command line says."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from healthcheck.plan.dry_run.stubs.permissive import Anything

_MISSING = inspect.Parameter.empty


class Option:
    """A declared option or argument: its parameter's name, and its default."""

    def __init__(self, *words: Any, default: Any = _MISSING, **more: Any) -> None:
        names = [word for word in words if isinstance(word, str)]
        longest = max(names, key=len, default="")
        self.name = longest.lstrip("-").replace("-", "_").split("/")[0].lower()
        self.default = default() if callable(default) else default
        self.type = more.get("type")
        variable = more.get("envvar")
        if isinstance(variable, str) and variable in os.environ:
            self.default = os.environ[variable]
        elif self.default is _MISSING and longest.startswith("-") and not more.get("required"):
            self.default = False if more.get("is_flag") else None


class Command:
    """A function that takes its arguments from the command line when it is called without any."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.options: list[Option] = list(getattr(function, "options_", []))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs:
            return self.function(*args, **kwargs)
        self.run(sys.argv[1:])
        sys.exit(0)

    def main(self, *_: Any, **__: Any) -> None:
        self()

    def run(self, argv: list[str]) -> None:
        """Call the function with what the command line says."""
        declared = {option.name: option.default for option in self.options}
        numbers = {option.name for option in self.options if option.type is int}
        given = values(self.function, declared, argv)
        self.function(
            **{
                name: int(value) if name in numbers and isinstance(value, str) else value
                for name, value in given.items()
            }
        )


class Group(Command):
    """A command that has others below it: its own function runs first."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.commands: dict[str, Command] = {}

    def command(self, name: Any = None, *_: Any, **__: Any) -> Any:
        return self._adding(Command, name)

    def group(self, name: Any = None, *_: Any, **__: Any) -> Any:
        return self._adding(Group, name)

    def add_command(self, command: Command, name: str | None = None) -> None:
        self.commands[name or _dashed(command.function)] = command

    def _adding(self, kind: type[Command], name: Any) -> Any:
        def add(function: Any) -> Command:
            made = function if isinstance(function, Command) else kind(function)
            self.add_command(made, name if isinstance(name, str) else None)
            return made

        return add(name) if callable(name) else add

    def run(self, argv: list[str]) -> None:
        at = next((at for at, word in enumerate(argv) if word in self.commands), None)
        super().run(argv[:at])
        if at is not None:
            self.commands[argv[at]].run(argv[at + 1 :])


def _dashed(function: Callable[..., Any]) -> str:
    return function.__name__.replace("_", "-")


def _with_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without its first parameter, the context of click."""
    first, *others = inspect.signature(function).parameters.values()

    @functools.wraps(function)
    def call(**given: Any) -> Any:
        return function(Anything(first.name), **given)

    call.__dict__["__signature__"] = inspect.Signature(others)
    return call


def values(function: Callable[..., Any], declared: Mapping[str, Any], argv: list[str]) -> dict[str, Any]:
    """The arguments of a function from a command line."""
    found: dict[str, Any] = {}
    parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        default = declared.get(name, parameter.default)
        if isinstance(default, Option):
            default = default.default
        if default is not _MISSING and default is not ...:
            found[name] = default
    free = [name for name in parameters if name not in found]
    words = list(argv)
    while words:
        word = words.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = name.replace("-", "_")
            bare = isinstance(found.get(name), bool) or not words or words[0].startswith("--")
            found[name] = value if equals else True if bare else words.pop(0)
            free = [each for each in free if each != name]
        elif free:
            found[free.pop(0)] = word
    if free:
        print(f"Error: Missing option or argument: {free[0]}", file=sys.stderr)
        sys.exit(2)
    return {name: _typed(value, parameters.get(name)) for name, value in found.items() if name in parameters}


def _typed(value: Any, parameter: inspect.Parameter | None) -> Any:
    wanted = parameter.annotation if parameter else None
    return int(value) if wanted in {int, "int"} and isinstance(value, str) else value


def _declare(*words: Any, **more: Any) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        target = function.options if isinstance(function, Command) else function.__dict__.setdefault("options_", [])
        target.append(Option(*words, **more))
        return function

    return add


def _command(*args: Any, **_: Any) -> Any:
    return Command(args[0]) if args and callable(args[0]) else Command


def _group(*args: Any, **_: Any) -> Any:
    return Group(args[0]) if args and callable(args[0]) else Group


class Typer:
    """An application of commands; with one command, that one is it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.commands: dict[str, Callable[..., Any]] = {}

    def command(self, name: str | None = None, **_: Any) -> Callable[[Any], Any]:
        def add(function: Any) -> Any:
            self.commands[name or _dashed(function)] = function
            return function

        return add

    def callback(self, *_: Any, **__: Any) -> Callable[[Any], Any]:
        return lambda function: function

    def __call__(self, *_: Any, **__: Any) -> None:
        argv = sys.argv[1:]
        chosen = next(iter(self.commands.values()), None) if len(self.commands) == 1 else None
        if chosen is None and argv and argv[0] in self.commands:
            chosen, argv = self.commands[argv[0]], argv[1:]
        if chosen is None:
            sys.exit(2)
        chosen(**values(chosen, {}, argv))


def _run(function: Callable[..., Any]) -> None:
    function(**values(function, {}, sys.argv[1:]))


def _fire(component: Any = None, *_: Any, **__: Any) -> Any:
    if inspect.isfunction(component):
        return component(**values(component, {}, sys.argv[1:]))
    return Anything("fire.Fire()")


def _typer_option(default: Any = _MISSING, *_: Any, **more: Any) -> Option:
    return Option(default=default, **more)


def parts(name: str) -> dict[str, Any]:
    """What matters of a command-line library by module name."""
    known: dict[str, dict[str, Any]] = {
        "click": {
            "command": _command, "group": _group, "option": _declare, "argument": _declare, "echo": print,
            "pass_context": _with_context,
        },
        "typer": {"Typer": Typer, "run": _run, "Option": _typer_option, "Argument": _typer_option, "echo": print},
        "fire": {"Fire": _fire},
    }  # fmt: skip
    return known.get(name, {})
