"""Stubs for click and typer: they call the submission's function with the values on the command line."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from healthcheck.stages.plan.dry_run.stubs.permissive import Anything

_MISSING: Any = ...


class Option:
    """A declared option or argument: the name of its parameter, its flags and its default."""

    def __init__(self, *words: Any, default: Any = _MISSING, **more: Any) -> None:
        names = [word for word in words if isinstance(word, str)]
        self.name = (
            max(names, key=len, default="").lstrip("-").replace("-", "_").split("/")[0].lower()
        )
        self.flags = [word.split("/")[0] for word in names if word.startswith("-")]
        self.type = more.get("type")
        variable = more.get("envvar")
        self.default = os.environ.get(variable, default) if isinstance(variable, str) else default
        if self.default is _MISSING and self.flags and not more.get("required"):
            self.default = False if more.get("is_flag") else None
        elif callable(self.default):
            self.default = self.default()

    def declare(self, parser: argparse.ArgumentParser, name: str) -> None:
        """Add the option to the parser, under the name of its parameter."""
        free = self.default is _MISSING and not self.flags
        flags = () if free else (f"--{name}", f"--{name.replace('_', '-')}", *self.flags)
        how: dict[str, Any] = {} if self.default is _MISSING else {"default": self.default}
        if flags:
            how |= {"dest": name, "required": not how}
        if isinstance(self.default, bool):
            parser.add_argument(*dict.fromkeys(flags), action="store_true", **how)
        else:
            whole = self.type in {int, "int"}
            parser.add_argument(*dict.fromkeys(flags) or (name,), type=int if whole else str, **how)


class Command:
    """A function that takes its arguments from the command line if it is called without any."""

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
        """Call the function with the values on the command line."""
        parser = argparse.ArgumentParser(
            allow_abbrev=False, add_help=False, conflict_handler="resolve"
        )
        declared = {option.name: option for option in self.options}
        for name, parameter in _parameters(self.function).items():
            missing = parameter.default is parameter.empty
            said = (
                parameter.default if isinstance(parameter.default, Option) else declared.get(name)
            )
            option = said or Option(default=_MISSING if missing else parameter.default)
            option.type = option.type or parameter.annotation
            option.declare(parser, name)
        return self.function(**vars(parser.parse_known_args(argv)[0]))


def _parameters(function: Callable[..., Any]) -> Any:
    import inspect  # noqa: PLC0415 - a slow import that few programs need

    return inspect.signature(function).parameters


class Group(Command):
    """A command with subcommands; its own function runs first."""

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
    """An application with commands; a single command needs no name."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(lambda: None)

    def callback(self, *_: Any, **__: Any) -> Any:
        return lambda function: function

    def run(self, argv: list[str]) -> None:
        if len(self.commands) == 1:
            next(iter(self.commands.values())).run(argv)
        else:
            super().run(argv)


def _with_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Bind the first parameter of a function, the context of click, to a placeholder."""
    call = functools.partial(function, Anything("click.Context"))
    call.__dict__.update(function.__dict__, __name__=function.__name__)
    return call


def _declare(*words: Any, **more: Any) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        target = (
            function.options
            if isinstance(function, Command)
            else function.__dict__.setdefault("options_", [])
        )
        target.append(Option(*words, **more))
        return function

    return add


def _making(kind: type[Command]) -> Callable[..., Any]:
    return lambda *args, **_: kind(args[0]) if args and callable(args[0]) else kind


def _typer_option(default: Any = _MISSING, *words: Any, **more: Any) -> Option:
    return Option(*words, default=default, **more)


def parts(name: str) -> dict[str, Any]:
    """The stubbed attributes of a command-line library, by module name."""
    known: dict[str, dict[str, Any]] = {
        "click": {
            "command": _making(Command), "group": _making(Group), "option": _declare, "argument": _declare,
            "echo": print, "pass_context": _with_context,
        },
        "typer": {
            "Typer": Typer, "run": lambda function: Command(function)(), "Option": _typer_option,
            "Argument": _typer_option, "echo": print,
        },
    }  # fmt: skip
    return known.get(name, {})
