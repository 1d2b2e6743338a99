"""Every call that starts a process fixes its program and working directory, whatever the current folder."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

from tests.support.extensions import there

ROOT = Path(__file__).parents[2] / "healthcheck"
SUBPROCESS = {"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"}
OS = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"}
IN_THE_SANDBOX = ("stages/plan/dry_run/stubs/", "stages/probe/grading/code_child.py")
"""The stubs of programs, which run beside the untrusted script, and what runs beside an untrusted answer."""
RUNNERS = {"ran", "processes.ran", "processes.started"}
"""The names of `processes.ran` and `started` in their callers, which start a process too."""
PROGRAMS = {"programs.find_or_name", "programs.isolated", "programs.python", "programs.find"}
OTHERS = {
    "system/processes.py:started": "what its callers name, which are looked at themselves",
    "stages/repo/shells.py:_run": "a shell that programs.find found",
    "extensions/runner/children/shared.py:run_ranks": "the interpreter that runs it, in the folder that the kit made for it",
    "extensions/runner/children/soak_probe.py:main": "the same",
    "extensions/runner/children/soak_probe.py:table": "npu-smi as the runner found it, in that folder",
    "extensions/fleet/leash.py:main": "the kit's own verify, whose Python the driver or Ray's worker named",
    "extensions/numerics/local.py:_run": "a Python with transformers, named by an option or in the kit's own clone",
    "stages/service/guardian.py:_launch": "deploy.sh itself, in its export",
    "stages/service/provided.py:_can_import": "the python3 of the launch, which is asked where it would find a module",
}
FORKS = {
    "extensions/fleet/leash.py:main",
    "sandbox/jail.py:_worker",
    "sandbox/program.py:become",
    "sandbox/warden.py:__init__",
}


@functools.cache
def places() -> tuple[tuple[str, ast.Call, ast.FunctionDef | ast.Module], ...]:
    """Each call that starts a process, with "module:function" and the function around it."""
    return tuple(_places())


def _places() -> Iterator[tuple[str, ast.Call, ast.FunctionDef | ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(IN_THE_SANDBOX):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            if _starts(ast.unparse(call.func)):
                around = [each for each in functions if call in set(ast.walk(each))]
                yield (
                    f"{name}:{around[-1].name if around else ''}",
                    call,
                    around[-1] if around else tree,
                )


def _by_subprocess(call: ast.Call) -> bool:
    function = ast.unparse(call.func)
    return function.startswith("subprocess.") or function in RUNNERS


def _starts(function: str) -> bool:
    if function in RUNNERS:
        return True
    module, _, name = function.rpartition(".")
    if module == "os":
        return name in OS or name.startswith(("exec", "spawn"))
    if module in {"multiprocessing", "pty"}:
        return True
    return name in {"ProcessPoolExecutor", "create_subprocess_exec", "create_subprocess_shell"} or (
        module == "subprocess" and name in SUBPROCESS
    )


def test_each_place_is_known() -> None:
    found = {place for place, call, _ in places() if _by_subprocess(call)}
    assert found >= there(OTHERS), "one is gone: take it off the list"
    assert len(found) >= 12
    raw = {place for place, call, _ in places() if not _by_subprocess(call)}
    assert raw == there(FORKS)


def test_each_has_a_working_folder_and_an_absolute_program() -> None:
    for place, call, around in places():
        if not _by_subprocess(call):
            continue
        keywords = {keyword.arg for keyword in call.keywords}
        assert "shell" not in keywords, place
        assert "cwd" in keywords or place.startswith("extensions/runner/children/"), (
            f"{place} has no folder of its own"
        )
        used = {ast.unparse(node) for node in ast.walk(around) if isinstance(node, ast.Attribute)}
        assert PROGRAMS & used or place in OTHERS, (
            f"{place}: take the program from healthcheck.system.programs"
        )


def test_no_other_module_asks_which_python_runs_it_or_searches_a_path() -> None:
    """sys.executable without -I, and shutil.which with a relative entry of PATH, lead into the caller's folder."""
    asking = set()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        used = {
            ast.unparse(node)
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Attribute)
        }
        if {"sys.executable", "shutil.which"} & used and not name.startswith(IN_THE_SANDBOX):
            asking.add(name)
    known = {
        "system/programs.py",
        "system/extras.py",  # in a line that is printed
        "extensions/numerics/local.py",  # the running Python as the one that has transformers
        "sandbox/box.py",  # its real place is shown inside the sandbox
        "stages/plan/dry_run/stubbed_machine.py",  # which programs the machine lacks; none is started
        "extensions/runner/children/shared.py",
        "extensions/runner/children/soak_probe.py",
        "machine/children/versions.py",
    }
    assert asking == there(known)


FOLLOWING = {
    "os.chmod", "os.chown", "os.walk", "os.fwalk", "os.path.exists", "os.path.isfile", "os.path.isdir", "os.path.getsize",
    "os.listdir", "os.scandir", "os.stat", "os.lstat", "os.path.realpath", "os.path.lexists", "os.readlink", "os.open",
    "shutil.rmtree", "shutil.copyfile", "shutil.copytree", "Path", "open",
}  # fmt: skip
WATCHING = (
    "channel.py",
    "notes.py",
    "recorder.py",
    "stubs.py",
    "timers.py",
    "warden.py",
    "watch.py",
)
"""The modules that run during the script, besides the functions of `outside` that add up its disk space."""
MEASURING = {"used_bytes", "_shared_files"}
EXCEPTIONS = {
    "channel.py": {"os.chmod", "os.open"},  # its own new files, before the script starts
    "stubs.py": {"os.stat"},  # /proc, and its own files before the script starts
    "warden.py": {"os.open"},  # /proc, before the script starts
    "recorder.py": {
        "os.path.realpath",
        "os.path.lexists",
    },  # the target of a word of argv; nothing is opened
    "outside.py": {"os.lstat"},  # sizes for a sum; nothing is opened
}


def test_who_watches_touches_files_through_one_helper_alone() -> None:
    trees = {name: [ast.parse((ROOT / "sandbox" / name).read_text("utf-8"))] for name in WATCHING}
    outside = ast.walk(ast.parse((ROOT / "sandbox/outside.py").read_text("utf-8")))
    measuring = [
        node for node in outside if isinstance(node, ast.FunctionDef) and node.name in MEASURING
    ]
    assert {each.name for each in measuring} == MEASURING
    for name, parts in {**trees, "outside.py": measuring}.items():
        calls = [node for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
        used = {ast.unparse(node.func) for node in calls}
        assert used & FOLLOWING == EXCEPTIONS.get(name, set()), f"{name}: use sandbox/safely.py"
