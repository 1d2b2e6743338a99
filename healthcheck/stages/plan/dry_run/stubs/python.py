"""Stub for the Python interpreter: executes the submission's own code, and records what it starts."""

from __future__ import annotations

import _sitebuiltins
import builtins
import itertools
import os
import runpy
import sys
import time
from collections.abc import Sequence
from types import TracebackType

sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import (
    apps,
    earlier_steps,
    engines,
    imports,
    modes,
    modules,
    naps,
    note,
    permissive,
    pip,
    recorded_servers,
    shadows,
    webservers,
)

_TOOL_MODULES = {
    "pip", "ensurepip", "poetry", "pipx", "wheel", "build", "ray", "huggingface_hub", "modelscope", "nltk",
    "spacy", "pre_commit", "setuptools",
}  # fmt: skip
_LAUNCH_MODULES = {
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
}
_SUPERVISORD = "supervisor.supervisord"
_KIT = sys.argv[1]
_LAUNCHERS = {"torchrun", "accelerate", "deepspeed", "msrun"}
_APP_SERVERS = {
    "uvicorn",
    "gunicorn",
    "hypercorn",
    "fastapi",
    "flask",
    "granian",
    "daphne",
    "waitress-serve",
}
_NOT_SHOWN = (os.path.dirname(__file__), "<frozen runpy>")
_WITH_VALUE = {"-W", "-X", "--check-hash-based-pycs"}
_ASKS = {"-h", "--help", "--version", "-v"}


def main() -> None:
    kit, invoked, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    del sys.path[0]
    name = os.path.basename(invoked)
    _pose_as_python(kit, invoked)
    for word in ("exit", "quit"):  # the module site, which would define them, does not run here
        setattr(builtins, word, _sitebuiltins.Quitter(word, "Ctrl-D"))
    sys.excepthook = _say
    problem: BaseException | None = None
    try:
        if name in _APP_SERVERS:
            _app_server(name, arguments)
        elif name in _LAUNCHERS:
            _launch(name, arguments)
        else:
            _interpreter(name, arguments)
    except BaseException as error:
        problem = error
        raise
    finally:
        _tell_what_was_guessed(problem)


def _say(kind: type[BaseException], problem: BaseException, traced: TracebackType | None) -> None:
    """Print the traceback as the real interpreter would, without frames of the stub."""
    import traceback  # noqa: PLC0415 - only where it is needed

    whole = traceback.TracebackException(kind, problem, traced)
    told: traceback.TracebackException | None = whole
    while told is not None:
        told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith(_NOT_SHOWN)]
        told = told.__cause__ or told.__context__
    sys.stderr.write("".join(whole.format()))


def _tell_what_was_guessed(problem: BaseException | None) -> None:
    """Record that a program may have ended because a library was not the real one."""
    expected: tuple[type[BaseException], ...] = (
        FileNotFoundError,
        KeyError,
        SystemExit,
        KeyboardInterrupt,
    )
    expected += (ImportError, AttributeError) if imports.refused else (ModuleNotFoundError,)
    names = permissive.guessed() or (["a library"] if permissive.is_about_a_stub(problem) else [])
    if names and not isinstance(problem, expected):
        how = type(problem).__name__ if problem else "ended"
        note.record("python", calls.GUESSED, how, *dict.fromkeys(names[-5:]))


def _pose_as_python(kit: str, invoked: str) -> None:
    """Imitate the real interpreter, so that programs started with sys.executable are recorded, too."""
    place = invoked if os.path.basename(invoked).startswith("python") else "python3"
    found = (
        place
        if "/" in place
        else next((p for p in _search_path(place) if os.access(p, os.X_OK)), place)
    )
    sys.executable = os.path.abspath(found)
    sys._base_executable = sys.executable  # type: ignore[attr-defined]  # noqa: SLF001 - multiprocessing reads it
    for entry in reversed(os.environ.get("PYTHONPATH", "").split(":")):
        if entry and os.path.realpath(entry) != pip.SITE:  # its packages are empty
            sys.path.insert(0, entry)
    if os.path.lexists(f"{kit}/bin/chmod"):
        os.chmod = modes.change
    time.sleep = naps.sleep  # type: ignore[assignment]
    naps.advance_clocks()
    modules.install(kit)


def _search_path(name: str) -> list[str]:
    return [f"{folder}/{name}" for folder in os.environ.get("PATH", os.defpath).split(":")]


def _interpreter(name: str, arguments: list[str]) -> None:
    option, given = "-", list[str]()
    while arguments:
        option = arguments.pop(0)
        given.append(option)
        if option in {"-V", "--version", "-VV"}:
            return print(f"Python {sys.version.split()[0]}")
        if option in {"-h", "--help"}:
            return None
        if option in _WITH_VALUE:
            arguments = arguments[1:]
        elif option == "-" or not option.startswith("-"):
            break
        elif option[-1] == "c" and "X" not in option and arguments:
            _search_first("", given)
            return _text(arguments[0], "<string>", ["-c", *arguments[1:]])
        elif option.startswith("-m") and len(option) > 2:
            _search_first(os.getcwd(), given)
            return _module(name, option[2:], arguments)
        elif option[-1] == "m" and arguments:
            _search_first(os.getcwd(), given)
            return _module(name, arguments[0], arguments[1:])
    else:
        option = "-"
    if not os.path.isdir(option):
        _search_first(
            "" if option == "-" else os.path.dirname(os.path.realpath(option)), given[:-1]
        )
    return _script(option, arguments)


def _search_first(folder: str, options: Sequence[str]) -> None:
    """Put a folder first on the search path, unless the options or PYTHONSAFEPATH forbid it."""
    letters = "".join(
        each.partition("X")[0].partition("W")[0] for each in options if not each.startswith("--")
    )
    if not {"P", "I"} & set(letters) and not os.environ.get("PYTHONSAFEPATH"):
        sys.path.insert(0, folder)


def _script(path: str, arguments: list[str]) -> None:
    if path == "-":
        return _text(sys.stdin.read(), "<stdin>", [path, *arguments])
    sys.argv = [path, *arguments]
    if not os.path.exists(path):
        print(
            f"{sys.executable}: can't open file '{os.path.abspath(path)}': [Errno 2]",
            file=sys.stderr,
        )
        sys.exit(2)
    if os.path.basename(os.path.realpath(path)) in {
        "server.sh",
        "vllm.py",
    }:  # python3 $(which vllm) serve …
        recorded_servers.act_as_server(os.path.basename(path), arguments)
    runpy.run_path(path, run_name="__main__")
    return None


def _text(text: str, name: str, argv: list[str]) -> None:
    sys.argv = argv
    imports.texts[name] = text
    main_module = type(sys)("__main__")
    main_module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main_module
    exec(compile(text, name, "exec"), main_module.__dict__)  # noqa: S102 - it is what an interpreter does


def _module(name: str, module: str, arguments: list[str]) -> None:
    sys.argv = [module, *arguments]
    top = module.split(".", maxsplit=1)[0]
    local = os.path.exists(top) or os.path.exists(f"{top}.py")
    if module in _LAUNCH_MODULES:
        _launch(module, arguments)
    elif module in {"venv", "virtualenv"}:
        _venv(arguments)
    elif module == _SUPERVISORD and not local:
        _supervisord(arguments)
    elif top in _APP_SERVERS and not local:
        _app_server(top, arguments)
    elif not local and (said := engines.not_there(module)):
        print(f"{sys.executable}: {said}", file=sys.stderr)
        sys.exit(1)
    elif not local and (
        top in _TOOL_MODULES or (engines.serves(module) and _ASKS & set(arguments))
    ):
        note.record("exec", name, "-m", module, *arguments)
        if module == "pip" and pip.run(arguments, sys.executable):
            sys.exit(1)
    elif not local and engines.serves(module):
        if top == "vllm":
            shadows.record_for_server()
        recorded_servers.act_as_server(name, ["-m", module, *arguments])
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def _supervisord(arguments: list[str]) -> None:
    """Continue as the stub of the program supervisord."""
    if _SUPERVISORD.partition(".")[0] not in earlier_steps.importable_names():
        print(f"{sys.executable}: No module named supervisor", file=sys.stderr)
        sys.exit(1)
    stub = f"{os.path.dirname(__file__)}/supervisord.py"
    python = f"{_KIT}/py/bin/python3"
    os.execv(  # noqa: S606
        python, [python, "-I", "-S", "-B", "-X", "utf8", stub, _KIT, "supervisord", *arguments]
    )


def _launch(name: str, arguments: list[str]) -> None:
    """Run the script of a launcher of several processes."""
    note.record("exec", name, *arguments)
    for index, argument in enumerate(arguments):
        if argument in {"-m", "--module"} and index + 1 < len(arguments):
            _search_first(os.getcwd(), ())
            return _module("python3", arguments[index + 1], arguments[index + 2 :])
        if argument.endswith(".py") and not argument.startswith("-"):
            _search_first(os.path.dirname(os.path.realpath(argument)), ())
            return _script(argument, arguments[index + 1 :])
    return None


def _app_server(name: str, arguments: list[str]) -> None:
    """Act as an ASGI or WSGI server; imports the application for its routes, which also shows import errors."""
    if {"-h", "--help", "--version", "--check-config"} & set(arguments):
        return
    sys.path.insert(0, os.getcwd())
    folder = next(
        (value for key, value in itertools.pairwise(arguments) if key in {"--app-dir", "--chdir"}),
        "",
    )
    if folder:
        sys.path.insert(0, folder)
    arguments = webservers.complete(name, arguments)
    target = webservers.target(name, arguments)
    routes = apps.routes_of(target) if target else ()
    shadows.record_for_library()
    recorded_servers.act_as_server(name, [*arguments, *(f"#route {route}" for route in routes)])


def _venv(arguments: list[str]) -> None:
    """Create a virtual environment with links to the same stubs."""
    note.record("exec", "venv", *arguments)
    for folder in [argument for argument in arguments if not argument.startswith("-")][:1]:
        bin_folder = os.path.abspath(f"{folder}/bin")
        os.makedirs(bin_folder, exist_ok=True)
        for program in ("python", "python3", "pip", "pip3"):
            source = next((p for p in _search_path(program) if os.path.exists(p)), "")
            if source and not os.path.lexists(f"{bin_folder}/{program}"):
                os.symlink(os.path.realpath(source), f"{bin_folder}/{program}")
        with open(f"{bin_folder}/activate", "w", encoding="utf-8") as file:
            file.write(
                f"VIRTUAL_ENV='{os.path.dirname(bin_folder)}'\nexport VIRTUAL_ENV\n"
                f"PATH='{bin_folder}':\"$PATH\"\nexport PATH\ndeactivate() {{ :; }}\n"
            )


if __name__ == "__main__":
    main()
