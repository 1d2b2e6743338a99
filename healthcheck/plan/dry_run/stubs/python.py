"""Stub for the Python interpreter: runs the submission's own code for real, and records what it starts."""

from __future__ import annotations

import _sitebuiltins
import builtins
import itertools
import os
import runpy
import sys
import time
from collections.abc import Callable
from types import TracebackType

sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.plan.dry_run.stubs import apps, calls, engines, modules, note, permissive, pip, webservers

_TOOL_MODULES = {
    "pip", "ensurepip", "poetry", "pipx", "wheel", "build", "ray", "huggingface_hub", "modelscope", "nltk",
    "spacy", "pre_commit", "setuptools",
}  # fmt: skip
_LAUNCH_MODULES = {"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
_LAUNCHERS = {"torchrun", "accelerate", "deepspeed", "msrun"}
_APP_SERVERS = {"uvicorn", "gunicorn", "hypercorn", "fastapi", "flask", "granian", "daphne", "waitress-serve"}
_NOT_SHOWN = (os.path.dirname(__file__), "<frozen runpy>")
_WITH_VALUE = {"-W", "-X", "--check-hash-based-pycs"}


def main() -> None:
    kit, invoked, arguments = sys.argv[1], sys.argv[2], sys.argv[3:]
    del sys.path[0]
    name = os.path.basename(invoked)
    _pose_as_python(kit, invoked)
    for word in ("exit", "quit"):  # of the module site, which does not run here
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
    """The traceback that the real interpreter would show: without the frames of the stub."""
    import traceback  # noqa: PLC0415 - only where it is needed

    whole = traceback.TracebackException(kind, problem, traced)
    told: traceback.TracebackException | None = whole
    while told is not None:
        told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith(_NOT_SHOWN)]
        told = told.__cause__ or told.__context__
    sys.stderr.write("".join(whole.format()))


def _tell_what_was_guessed(problem: BaseException | None) -> None:
    """A program that ended by itself may have ended because a library was not the real one."""
    expected = (ModuleNotFoundError, FileNotFoundError, KeyError, SystemExit, KeyboardInterrupt)
    names = permissive.guessed() or (["a library"] if permissive.is_about_a_stub(problem) else [])
    if names and not isinstance(problem, expected):
        how = type(problem).__name__ if problem else "ended"
        note.record("python", calls.GUESSED, how, *dict.fromkeys(names[-5:]))


def _pose_as_python(kit: str, invoked: str) -> None:
    """Have programs that the code starts with sys.executable recorded too."""
    place = invoked if os.path.basename(invoked).startswith("python") else "python3"
    found = place if "/" in place else next((p for p in _search_path(place) if os.access(p, os.X_OK)), place)
    sys.executable = os.path.abspath(found)
    sys._base_executable = sys.executable  # type: ignore[attr-defined]  # noqa: SLF001 - multiprocessing reads it
    for entry in reversed(os.environ.get("PYTHONPATH", "").split(":")):
        if entry and os.path.realpath(entry) != pip.SITE:  # where what is stood in for is empty
            sys.path.insert(0, entry)
    time.sleep = note.sleep  # type: ignore[assignment]
    note.keep_time()
    modules.install(kit)


def _search_path(name: str) -> list[str]:
    return [f"{folder}/{name}" for folder in os.environ.get("PATH", os.defpath).split(":")]


def _interpreter(name: str, arguments: list[str]) -> None:
    while arguments:
        option = arguments.pop(0)
        if option in {"-V", "--version", "-VV"}:
            print(f"Python {sys.version.split()[0]}")
            return
        if option in {"-h", "--help"}:
            return
        if option in _WITH_VALUE:
            arguments = arguments[1:]
        elif option == "-" or not option.startswith("-"):
            _script(option, arguments)
            return
        elif option.startswith("-") and option[-1] == "c" and "X" not in option and arguments:
            _code(arguments.pop(0), arguments)
            return
        elif option.startswith("-m") and len(option) > 2:
            _module(name, option[2:], arguments)
            return
        elif option.startswith("-") and option[-1] == "m" and arguments:
            _module(name, arguments.pop(0), arguments)
            return
    _script("-", [])


def _code(text: str, arguments: list[str]) -> None:
    sys.argv = ["-c", *arguments]
    sys.path.insert(0, "")
    _as_main(text, "<string>")


def _script(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    if path == "-":
        sys.path.insert(0, "")
        _as_main(sys.stdin.read(), "<stdin>")
        return
    if not os.path.exists(path):
        print(f"{sys.executable}: can't open file '{os.path.abspath(path)}': [Errno 2]", file=sys.stderr)
        sys.exit(2)
    if not os.path.isdir(path):
        sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    if shebang_of_server(path):
        note.serve(os.path.basename(path), arguments)
    runpy.run_path(path, run_name="__main__")


def shebang_of_server(path: str) -> bool:
    """`python3 $(which vllm) serve …`: the script is one of our own stubs."""
    return os.path.basename(os.path.realpath(path)) in {"server.sh", "vllm.py"}


def _as_main(text: str, name: str) -> None:
    main_module = type(sys)("__main__")
    main_module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main_module
    exec(compile(text, name, "exec"), main_module.__dict__)  # noqa: S102 - it is what an interpreter does


def _module(name: str, module: str, arguments: list[str]) -> None:
    sys.path.insert(0, os.getcwd())
    sys.argv = [module, *arguments]
    top = module.split(".", maxsplit=1)[0]
    local = os.path.exists(top) or os.path.exists(f"{top}.py")
    special: Callable[[], None] | None = None
    if module in _LAUNCH_MODULES:
        special = lambda: _launch(module, arguments)  # noqa: E731
    elif module in {"venv", "virtualenv"}:
        special = lambda: _venv(arguments)  # noqa: E731
    elif top in _APP_SERVERS and not local:
        special = lambda: _app_server(top, arguments)  # noqa: E731
    elif top in _TOOL_MODULES and not local:
        special = lambda: _tool(name, module, arguments)  # noqa: E731
    elif not local and engines.serves(module):
        special = lambda: _known_server(name, module, arguments)  # noqa: E731
    if special:
        special()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def _tool(name: str, module: str, arguments: list[str]) -> None:
    note.record("exec", name, "-m", module, *arguments)
    if module == "pip" and pip.run(arguments):
        sys.exit(1)


def _known_server(name: str, module: str, arguments: list[str]) -> None:
    if {"-h", "--help", "--version", "-v"} & set(arguments):
        note.record("exec", name, "-m", module, *arguments)
        return
    note.serve(name, ["-m", module, *arguments])


def _launch(name: str, arguments: list[str]) -> None:
    """A launcher of several processes runs the script that it is given."""
    note.record("exec", name, *arguments)
    for index, argument in enumerate(arguments):
        if argument in {"-m", "--module"} and index + 1 < len(arguments):
            _module("python3", arguments[index + 1], arguments[index + 2 :])
            return
        if argument.endswith(".py") and not argument.startswith("-"):
            _script(argument, arguments[index + 1 :])
            return


def _app_server(name: str, arguments: list[str]) -> None:
    """An ASGI or WSGI server: import the application for its routes, which also finds what cannot be imported."""
    if {"-h", "--help", "--version", "--check-config"} & set(arguments):
        return
    sys.path.insert(0, os.getcwd())
    folder = next((value for key, value in itertools.pairwise(arguments) if key in {"--app-dir", "--chdir"}), "")
    if folder:
        sys.path.insert(0, folder)
    arguments = webservers.complete(name, arguments)
    target = webservers.target(name, arguments)
    routes = apps.routes_of(target) if target else ()
    note.serve(name, [*arguments, *(f"#route {route}" for route in routes)])


def _venv(arguments: list[str]) -> None:
    """An environment that finds the same stubs, made in no time."""
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
