"""Completes command lines of web servers from files and variables: the application, and its address."""

from __future__ import annotations

import itertools
import os
import runpy
import sys
from typing import Any


def complete(name: str, arguments: list[str]) -> list[str]:
    """Prepend the server's configuration to its command line, which takes precedence.

    Raises:
        SystemExit: the configuration file is missing; the server would exit, too.
    """
    if name != "gunicorn":
        return arguments
    bound = _bound(_configuration(_value(arguments, "-c", "--config")))
    if not bound and os.environ.get("PORT"):
        bound = f"0.0.0.0:{os.environ['PORT']}"
    return [*(("--bind", bound) if bound else ()), *arguments]


def target(name: str, arguments: list[str]) -> str:
    """The application as "module:attribute" or "module"; "" if there is none."""
    if name == "flask":
        return _of_file(
            _value(arguments, "-A", "--app") or os.environ.get("FLASK_APP", ""),
            ("wsgi.py", "app.py"),
        )
    if name == "fastapi":
        words = [
            word for word in arguments if not word.startswith("-") and word not in {"run", "dev"}
        ]
        path = next((word for word in words if word.endswith(".py")), "")
        attribute = _value(arguments, "--app")
        usual = ("main.py", "app.py", "api.py", "app/main.py", "app/app.py", "app/api.py")
        return _of_file(f"{path}:{attribute}" if path and attribute else path, usual)
    return next(
        (
            word
            for word in arguments
            if ":" in word and not word.startswith("-") and word[0].isalpha()
        ),
        "",
    )


def _value(arguments: list[str], *options: str) -> str:
    """The last value of an option."""
    found = ""
    for word, following in itertools.pairwise([*arguments, ""]):
        option, equals, value = word.partition("=")
        if word in options:
            found = following
        elif equals and option in options:
            found = value
    return found


def _of_file(given: str, usual: tuple[str, ...]) -> str:
    path, colon, attribute = (given or next(filter(os.path.exists, usual), "")).partition(":")
    if path.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        path = os.path.basename(path).removesuffix(".py")
    return f"{path}{colon}{attribute}"


def _configuration(given: str) -> dict[str, Any]:
    """Run Gunicorn's configuration, which is a Python program."""
    path = given.removeprefix("file:") or "gunicorn.conf.py"
    if os.path.exists(path):
        return runpy.run_path(path)
    if given:
        print(
            f"Error: '{path}' doesn't exist: No such file or directory: '{path}'", file=sys.stderr
        )
        sys.exit(1)
    return {}


def _bound(configuration: dict[str, Any]) -> str:
    found = configuration.get("bind", "")
    return str(found[0]) if isinstance(found, (list, tuple)) and found else str(found or "")
