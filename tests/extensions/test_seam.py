"""Checks and commands of other distributions: they run, they are named, and what is wrong with one is told of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from healthcheck.cli import COMMANDS
from healthcheck.core.extensions import reserved_words
from healthcheck.verify import catalogue
from tests.support.commands import Ended, ran
from tests.support.extensions import EXAMPLE, installed
from tests.support.repositories import repository

SOURCE = EXAMPLE.read_text("utf-8")
HEADER = "# SPDX-License-Identifier: Apache-2.0\n"
LAUNCH = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000\n'
ID = "own/licence-header"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    def install(source: str | None = None, folder: Path | None = None) -> None:
        monkeypatch.syspath_prepend(str(installed(folder or tmp_path / "site", source)))
        monkeypatch.delitem(sys.modules, "own_check", raising=False)

    return install


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    files = {"deploy.sh": f"#!/bin/sh\n{LAUNCH}", "requirements.txt": ""}
    return repository(tmp_path / "adapter", files)


def verified(adapter: Path, *more: str) -> tuple[Ended, dict[str, Any]]:
    ended = ran(
        "verify",
        str(adapter),
        "--until",
        "repo",
        "--quiet",
        "--json",
        str(adapter.parent / "r.json"),
        *more,
    )
    return ended, json.loads((adapter.parent / "r.json").read_text("utf-8"))


def of(report: dict[str, Any], check: str) -> dict[str, Any]:
    return next((each for each in report["checks"] if each["id"] == check), {})


@pytest.mark.process
def test_a_check_of_another_distribution_judges_beside_the_kits_own(
    install: Install, adapter: Path
) -> None:
    without, _ = verified(adapter)
    install()
    ended, report = verified(adapter)
    assert (without.returncode, ended.returncode) == (0, 1), ended.stderr
    assert of(report, ID)["outcome"] == "fail"
    assert f"insert: {HEADER.strip()}" in of(report, ID)["fix"]
    assert report["provenance"]["extensions"] == ["licence (own-check 1.0)"]
    ended, report = verified(adapter, "--no-extensions")
    assert (ended.returncode, of(report, ID), report["provenance"].get("extensions")) == (
        0,
        {},
        None,
    )
    ended, report = verified(adapter, "--skip", ID)
    assert (ended.returncode, of(report, ID)["outcome"]) == (0, "skip")


@pytest.mark.process
def test_its_page_is_explained_and_doctor_lists_it(install: Install) -> None:
    install()
    assert f"{ID}: Our licence header is in deploy.sh" in ran("explain", ID).stdout
    assert ID in ran("explain").stdout
    assert "extension licence      own-check 1.0" in ran("doctor").stdout


@pytest.mark.process
def test_a_command_of_another_distribution_is_listed_and_run(
    install: Install, adapter: Path
) -> None:
    install()
    assert "print our licence header" in ran("--help").stdout
    assert "usage: npu-adapter licence" in ran("licence", "--help").stdout
    ended = ran("licence", str(adapter))
    assert (ended.returncode, ended.stdout) == (1, HEADER)
    (adapter / "deploy.sh").write_text(f"#!/bin/sh\n{HEADER}{LAUNCH}")
    assert ran("licence", str(adapter)).returncode == 1, "the committed files count"


BROKEN = {
    "raise RuntimeError('no licence server')": "RuntimeError: no licence server",
    "import sys; sys.exit(0)": "SystemExit: 0",
    "COMMAND = CHECKS = [1]": "it is not a tuple of checks",
    "": "AttributeError: module 'own_check' has no attribute 'CHECKS'",
    SOURCE.replace(ID, "plan/licence"): "ids that begin with plan/ are the kit's own",
    SOURCE.replace(ID, "own licence"): "'own licence' is not an id such as own/licence",
    SOURCE.replace(
        "(licence_header,)", "(licence_header, licence_header)"
    ): f"there is another check {ID}",
}


@pytest.mark.process
@pytest.mark.parametrize("source", BROKEN, ids=list(BROKEN.values()))
def test_a_broken_one_is_an_error_by_name_and_never_the_submissions(
    install: Install, adapter: Path, source: str
) -> None:
    install(source)
    ended, report = verified(adapter)
    told = of(report, "extension/licence")
    assert (ended.returncode, report["verdict"], told["outcome"]) == (4, "inconclusive", "error"), (
        ended.stdout
    )
    assert told["detail"] == (
        f"the extension licence (own_check:CHECKS, own-check 1.0) cannot be used: {BROKEN[source]}"
    )
    assert {each["id"] for each in report["checks"] if each["outcome"] == "error"} == {
        "extension/licence"
    }
    assert verified(adapter, "--no-extensions")[0].returncode == 0


def test_a_broken_command_says_so_when_it_is_run(install: Install) -> None:
    install("raise RuntimeError('no licence server')")
    assert "(an extension that cannot be used)" in ran("--help").stdout
    ended = ran("licence")
    assert (ended.returncode, ended.stdout) == (4, "")
    assert "cannot be used: RuntimeError: no licence server" in ended.stderr


@pytest.mark.process
def test_nothing_is_loaded_from_the_repository_that_is_judged(
    install: Install, adapter: Path
) -> None:
    """Not even where the repository is on the search path of the kit's own Python."""
    install(f"open({str(adapter.parent / 'mark')!r}, 'w')\n{SOURCE}", folder=adapter)
    ended, report = verified(adapter)
    assert (ended.returncode, of(report, "extension/licence")["outcome"]) == (0, "skip"), (
        ended.stderr
    )
    assert (
        "own_check is in the repository that is judged" in of(report, "extension/licence")["detail"]
    )
    assert not (adapter.parent / "mark").exists()


OF_A_MACHINE = """
from healthcheck.api import check, warn
from healthcheck.extensions.runner.api import RUNNER

@check("own/rack", "The {rack is known", stage=RUNNER, why="Our labels name it.")
def rack(facts):
    '''A label names the rack.'''
    yield warn(expected="a label", seen=type(facts).__name__, fix="label it")

CHECKS = (rack,)
"""


@pytest.mark.process
def test_a_check_of_a_machine_runs_with_those_of_the_runner(
    install: Install, tmp_path: Path
) -> None:
    install(OF_A_MACHINE)
    place = tmp_path / "r.json"
    command = ("runner", "--level", "1", "--allow-none", "--quiet", "--json", str(place))
    assert ran(*command).returncode in {0, 1}
    found = of(json.loads(place.read_text("utf-8")), "own/rack")
    assert (found["outcome"], "RunnerFacts" in found["detail"]) == ("warn", True), found
    assert ran(*command, "--no-extensions").returncode in {0, 1}
    assert not of(json.loads(place.read_text("utf-8")), "own/rack")


@pytest.mark.parametrize("command", ["verify --url", "probe"])
def test_a_broken_one_is_said_without_a_repository_too(
    install: Install, tmp_path: Path, command: str
) -> None:
    """Nothing listens there, which settles nothing either."""
    install("raise RuntimeError('no licence server')")
    place = tmp_path / "r.json"
    ended = ran(
        *command.split(),
        "http://127.0.0.1:9",
        "--quiet",
        "--json",
        str(place),
        "--out",
        str(tmp_path / "o"),
    )
    assert ended.returncode == 4, ended.stderr
    assert of(json.loads(place.read_text("utf-8")), "extension/licence")["outcome"] == "error"


def test_a_command_of_the_core_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise AssertionError("the installed distributions were searched")

    monkeypatch.setattr("importlib.metadata.entry_points", refuse)
    assert [ran(name, "--help").returncode for name in COMMANDS] == [0] * len(COMMANDS)


def test_ids_of_the_kit_begin_with_words_that_no_extension_may_take() -> None:
    assert {page.id.partition("/")[0] for page in catalogue.pages()} <= reserved_words()
