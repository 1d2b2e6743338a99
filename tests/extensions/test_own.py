"""The kit's own extensions: the core works without their folders, and says what needs them."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.core import extensions
from tests.cli.test_help import examples
from tests.support.commands import Ended, ran, whole_parser
from tests.support.template import ROOT
from tests.test_architecture import HEAVY, imported_by

WEIGHTS = str(ROOT / "examples" / "simulated_engine" / "weights")
COMMANDS = [each.name for each in extensions.own(extensions.COMMANDS)]


@pytest.mark.parametrize("command", COMMANDS)
def test_its_help_fits_80_columns(command: str) -> None:
    ended = ran(command, "--help", COLUMNS="80")
    assert ended.returncode == 0
    assert [line for line in ended.stdout.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_its_help_begins_with_commands_that_are_right(command: str) -> None:
    found = examples(ran(command, "--help").stdout)
    assert len(found) == 2
    for example in found:
        assert (
            whole_parser()
            .parse_args(shlex.split(example)[1:])
            .parser.prog.startswith(f"npu-adapter {command}")
        )


def test_no_own_command_stands_with_those_of_other_distributions() -> None:
    assert "of other distributions" not in ran("--help").stdout


@pytest.mark.smoke
@pytest.mark.parametrize("command", COMMANDS)
def test_help_imports_no_library_and_no_stage(command: str) -> None:
    _, loaded = imported_by(
        "import contextlib\nfrom healthcheck import cli\nwith contextlib.suppress(SystemExit):\n"
        f"    cli.main([{command!r}, '--help'])"
    )
    assert sorted(loaded & HEAVY) == ["importlib.metadata"], "it looks for commands of extensions"
    assert [
        name for name in loaded if name.startswith(("healthcheck.stages.", "healthcheck.report."))
    ] == []


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package without extensions, and a link to everything else of the repository."""
    folder = tmp_path_factory.mktemp("core")
    shutil.copytree(
        ROOT / "healthcheck",
        folder / "healthcheck",
        ignore=shutil.ignore_patterns("extensions", "__pycache__"),
    )
    for each in ("adapter", "deploy.sh", "templates", "copier.yml"):
        (folder / each).symlink_to(ROOT / each)
    return folder


def alone(core: Path, *words: str) -> Ended:
    done = subprocess.run(
        [sys.executable, "-m", "healthcheck", *words], cwd=core, env={**os.environ, "PYTHONPATH": str(core)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.process
def test_the_core_works_without_them(core: Path, tmp_path: Path) -> None:
    listed = alone(core, "--help")
    assert listed.returncode == 0
    assert "    verify " in listed.stdout
    assert [name for name in COMMANDS if f"    {name} " in listed.stdout] == []
    place = tmp_path / "r.json"
    judged = alone(
        core,
        "verify",
        str(ROOT),
        "--until",
        "plan",
        "--weights",
        WEIGHTS,
        "--quiet",
        "--json",
        str(place),
    )
    assert json.loads(place.read_text("utf-8"))["verdict"] == "ready", judged.stderr
    assert judged.returncode == 0
    assert alone(core, "doctor").returncode == 0
    assert "npu-adapter explain" in alone(core, "explain", "--help").stdout
    assert "plan/port" in alone(core, "explain").stdout


MISSING = {
    "probe http://h --client aisbench": "unrecognized arguments: --client",
    "verify --url http://h --numerics": "unrecognized arguments: --numerics",
    "verify --url http://h --features": "unrecognized arguments: --features",
    "fleet verify jobs.toml --out o": "'fleet' is not one of ",
    "runner --level 1": "'runner' is not one of ",
    "explain runner/port": "there is no check 'runner/port'",
}


@pytest.mark.process
@pytest.mark.parametrize("words", MISSING)
def test_what_needs_a_missing_one_says_so(core: Path, words: str) -> None:
    ended = alone(core, *words.split())
    assert ended.returncode == 2
    assert MISSING[words] in ended.stderr


def _names_of(folder: str) -> dict[str, set[str]]:
    """The commands, options and check ids that an extension registers."""
    package = f"healthcheck.extensions.{folder}."

    def of(group: str) -> list[extensions.Extension]:
        return [each for each in extensions.own(group) if each.module.startswith(package)]

    flags: set[str] = set()
    for extension in of(extensions.ADDITIONS):
        for addition in extension.load():  # type: ignore[attr-defined]
            group = argparse.ArgumentParser().add_argument_group("x")
            addition.arguments(group)
            flags |= {flag for action in group._group_actions for flag in action.option_strings}
    checks = [check for extension in of(extensions.CHECKS) for check in extension.load()]  # type: ignore[attr-defined]
    return {
        "commands": {each.name for each in of(extensions.COMMANDS)},
        "options": flags,
        "checks": {check.id for check in checks},
    }


FOLDERS = sorted(
    path.name
    for path in (ROOT / "healthcheck" / "extensions").iterdir()
    if (path / "__init__.py").exists()
)


@pytest.mark.process
@pytest.mark.parametrize("folder", FOLDERS)
def test_nothing_of_an_extension_is_left_without_its_folder(folder: str, tmp_path: Path) -> None:
    names = _names_of(folder)
    assert names["commands"], "each has a command"
    shutil.copytree(
        ROOT / "healthcheck", tmp_path / "healthcheck", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.rmtree(tmp_path / "healthcheck" / "extensions" / folder)
    listed = alone(tmp_path, "--help").stdout
    assert "    verify " in listed
    assert [name for name in names["commands"] if f"    {name} " in listed] == []
    helps = "".join(alone(tmp_path, each, "--help-all").stdout for each in ("verify", "probe"))
    assert "--until" in helps
    assert [flag for flag in names["options"] if re.search(rf"{flag}\b(?!-)", helps)] == []
    explained = alone(tmp_path, "explain").stdout
    assert "plan/port" in explained
    assert [check for check in names["checks"] if check in explained] == []
    assert alone(tmp_path, "doctor").returncode == 0
