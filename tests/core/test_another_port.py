"""contract.py is the only place of the port: a kit for another port names that one, and accepts its own repairs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck import contract
from tests.support import repositories
from tests.support.daily import every
from tests.support.repositories import git

ROOT = Path(__file__).parents[2]
OLD, NEW = str(contract.PORT), "9000"
ENGINES_OWN = (f"vLLM {OLD}",)
"""The page of plan/port names the default of each engine."""
ALL_PAGES = "from healthcheck import catalogue; print(*(catalogue.text(page, str) for page in catalogue.pages()), sep='\\n')"
ALL_FAILURES = "from healthcheck.service.catalogue import catalogue; print(*(f.fix for f in catalogue().failures))"
OTHERS = ('exec xinference-local --port 9001 "$MODEL_PATH"', "exec python3 -m http.server 9000")


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which only the contract's port differs; the folder to run it from."""
    folder = tmp_path_factory.mktemp("kit")
    shutil.copytree(ROOT / "healthcheck", folder / "healthcheck", ignore=shutil.ignore_patterns("__pycache__"))
    place = folder / "healthcheck" / "contract.py"
    text = place.read_text(encoding="utf-8")
    assert text.count(f"PORT = {OLD}\n") == 1
    place.write_text(text.replace(f"PORT = {OLD}\n", f"PORT = {NEW}\n"), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    return folder


def run(kit: Path, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(kit)}, cwd=kit, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def verified(kit: Path, repository: Path, weights: Path, *options: str) -> dict:
    run(
        kit, "-m", "healthcheck", "verify", repository, "--weights", weights, "--until", "plan",
        "--json", kit / "report.json", *options,
    )  # fmt: skip
    return json.loads((kit / "report.json").read_bytes())


def repository(folder: Path, line: str) -> Path:
    return repositories.repository(folder, {"deploy.sh": f"#!/bin/sh\n{line}\n", "requirements.txt": ""})


def commit(folder: Path) -> None:
    git(folder, "commit", "-q", "-a", "-m", "repaired")


def shown(text: str) -> str:
    for words in ENGINES_OWN:
        text = text.replace(words, "")
    return text


@pytest.mark.process
@pytest.mark.parametrize("code", [ALL_PAGES, ALL_FAILURES], ids=["pages", "failures"])
def test_no_page_and_no_repair_of_a_failure_names_the_old_port(code: str, kit: Path) -> None:
    said = shown(run(kit, "-c", code))
    assert NEW in said
    assert [line for line in said.splitlines() if OLD in line] == []


def findings(report: dict) -> list[dict]:
    """The findings, none of which expects or proposes the old port, under titles and rules that do not name it."""
    found = [finding for check in report["checks"] for finding in check["evidence"]]
    said = [f"{check['title']} {check['why']} {check['rule']}" for check in report["checks"]]
    said += [f"{finding['expected']} {finding['fix']}" for finding in found]
    assert [text for text in said if OLD in text] == []
    return found


@pytest.mark.process
@pytest.mark.parametrize("line", every(2, OTHERS))
def test_no_finding_about_a_bad_script_names_the_old_port_by_itself(
    line: str, kit: Path, weights: Path, tmp_path: Path
) -> None:
    assert findings(verified(kit, repository(tmp_path / "repo", line), weights))


@pytest.mark.process
def test_the_launch_line_that_it_proposes_is_accepted(kit: Path, weights: Path, tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", "echo ready")
    fixes = [finding["fix"].partition("with: ")[2] for finding in findings(verified(kit, folder, weights))]
    (line,) = {fix for fix in fixes if fix.startswith("exec")}
    assert f"--port {NEW}" in line
    (folder / "deploy.sh").write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    commit(folder)
    assert verified(kit, folder, weights)["verdict"] == "ready"


@pytest.mark.process
def test_the_repair_that_it_makes_is_accepted(kit: Path, weights: Path, tmp_path: Path) -> None:
    folder = repository(tmp_path / "repo", f'exec vllm serve "$MODEL_PATH" --port {OLD} --host 0.0.0.0')
    findings(verified(kit, folder, weights, "--fix"))
    assert f"--port {NEW}" in (folder / "deploy.sh").read_text(encoding="utf-8")
    commit(folder)
    assert verified(kit, folder, weights)["verdict"] == "ready"


@pytest.mark.parametrize(
    "name",
    ["deploy.sh", "adapter/ready.py", "templates/repository/README.md.jinja",
     "templates/repository/tests/test_smoke.py.jinja"],
)  # fmt: skip
def test_the_adapter_which_travels_alone_has_the_port_of_the_contract(name: str) -> None:
    assert str(contract.PORT) in (ROOT / name).read_text(encoding="utf-8")
