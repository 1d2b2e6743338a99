"""Stubs for click, typer and fire: they call the submission's function with what the command line says."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from healthcheck.plan.dry_run.stubs.permissive import Anything

_MISSING = inspect.Parameter.empty


class Option:
    """A declared option or argument: its parameter's name, and its default."""

    def __init__(self, *words: Any, default: Any = _MISSING, **more: Any) -> None:
        names = [word for word in words if isinstance(word, str)]
        longest = max(names, key=len, default="")
        self.name = longest.lstrip("-").replace("-", "_").split("/")[0].lower()
        without = default is ... or default is _MISSING
        self.default = _MISSING if without else default() if callable(default) else default
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

    def run(self, argv: list[str]) -> Any:
        """Call the function with what the command line says."""
        parameters = inspect.signature(self.function).parameters
        declared = {name: each.default for name, each in parameters.items() if isinstance(each.default, Option)}
        declared |= {option.name: option for option in self.options}
        defaults = {name: declared.get(name, each).default for name, each in parameters.items()}
        given = _given(argv, {name: value for name, value in defaults.items() if value is not _MISSING}, defaults)
        whole = {name for name, each in parameters.items() if each.annotation in {int, "int"}}
        whole |= {name for name, option in declared.items() if option.type is int}
        return self.function(
            **{
                name: int(value) if name in whole and isinstance(value, str) else value
                for name, value in given.items()
                if name in parameters
            }
        )


def _given(argv: list[str], found: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The arguments of a command line by parameter; those without a default are positional, too."""
    free, words = [name for name in names if name not in found], list(argv)
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
    return found


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
        self.commands[name or command.function.__name__.replace("_", "-")] = command

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


class Typer(Group):
    """An application of commands; with one command, that one is it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(lambda: None)

    def command(self, name: Any = None, *_: Any, **__: Any) -> Any:
        def add(function: Any) -> Any:
            self.add_command(Command(function), name)
            return function

        return add

    def callback(self, *_: Any, **__: Any) -> Any:
        return lambda function: function

    def run(self, argv: list[str]) -> None:
        if len(self.commands) == 1:
            next(iter(self.commands.values())).run(argv)
        elif argv and argv[0] in self.commands:
            self.commands[argv[0]].run(argv[1:])
        else:
            sys.exit(2)


def _with_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function without its first parameter, the context of click."""
    first, *others = inspect.signature(function).parameters.values()

    @functools.wraps(function)
    def call(**given: Any) -> Any:
        return function(Anything(first.name), **given)

    call.__dict__["__signature__"] = inspect.Signature(others)
    return call


def _declare(*words: Any, **more: Any) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        target = function.options if isinstance(function, Command) else function.__dict__.setdefault("options_", [])
        target.append(Option(*words, **more))
        return function

    return add


def _making(kind: type[Command]) -> Callable[..., Any]:
    return lambda *args, **_: kind(args[0]) if args and callable(args[0]) else kind


def _run(function: Any = None, *_: Any, **__: Any) -> Any:
    return Command(function).run(sys.argv[1:]) if inspect.isfunction(function) else Anything("fire.Fire()")


def _typer_option(default: Any = _MISSING, *_: Any, **more: Any) -> Option:
    return Option(default=default, **more)


def parts(name: str) -> dict[str, Any]:
    """What matters of a command-line library by module name."""
    known: dict[str, dict[str, Any]] = {
        "click": {
            "command": _making(Command), "group": _making(Group), "option": _declare, "argument": _declare,
            "echo": print, "pass_context": _with_context,
        },
        "typer": {"Typer": Typer, "run": _run, "Option": _typer_option, "Argument": _typer_option, "echo": print},
        "fire": {"Fire": _run},
    }  # fmt: skip
    return known.get(name, {})
