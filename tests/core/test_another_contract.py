"""contract.py is the only place of its figures: a kit with others names those, and accepts its own repairs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck import contract
from healthcheck.text.language import Language, translation
from tests.support import repositories
from tests.support.catalogues import translations
from tests.support.daily import every
from tests.support.repositories import git

ROOT = Path(__file__).parents[2]
OLD, NEW = str(contract.PORT), "9000"
CHANGES = {
    f"PORT = {OLD}": f"PORT = {NEW}",
    "MAX_WEIGHT_GB = 100": "MAX_WEIGHT_GB = 120",
    "SAMPLES_PER_PROBLEM = 5": "SAMPLES_PER_PROBLEM = 7",
    'CHAT_PATH = "/v1/chat/completions"': 'CHAT_PATH = "/v1/talk"',
}
OLD_FIGURES = re.compile(
    r"(?<!\d)8000(?!\d)|(?<!\d)100\s?G|100,000,000,000|107,374|/v1/chat/completions"
    r"|(?i:(?<![\w.])(?:five|5) (?:times|samples)\b)|[五5]\s?(?:次|个样本)|@5"
)
OTHER_FIGURES = {
    "vLLM 8000": "the page of plan/port has the default of each engine",
    "{port} 8000": "a repair whose text is made with the port",
    "256 MiB five times": "runner/bandwidth copies as often",
    "拷贝各五次": "the same",
    "五次运行": "four of five runs are a power of 80 %",
    "五次中": "the same",
}
"""What happens to be the same figure, and why it is there."""
QUOTED = (contract.WEIGHT_LIMIT, contract.CHAT_STREAMING, contract.CHAT_REQUIRED)
"""The rules whose sentences, as the service has them, name a figure."""
ALL_PAGES = """
from healthcheck.text import language
from healthcheck.verify import catalogue
for each in language.Language:
    print(*(catalogue.text(page, language.translation(each).look_up) for page in catalogue.pages()), sep="\\n")
"""
ALL_FAILURES = (
    "from healthcheck.stages.service.catalogue import catalogue; print(*(f.fix for f in catalogue().failures))"
)
ALL_OPTIONS = """
from healthcheck.cli import whole_parser
for parser in whole_parser()._subparsers._group_actions[0].choices.values():
    print(*(action.help for action in parser._actions), sep="\\n")
"""
SIZES = """
import pathlib
from tests.weights.folders import judge, said
from tests.weights.peculiar import sparse
for size in (110, 121):
    found = judge(sparse(pathlib.Path(f"{size} GB"), size * 10**9), only="weights/size-limit")
    print(found["weights/size-limit"].outcome.value, said(found, "weights/size-limit"))
"""
OTHERS = ('exec xinference-local --port 9001 "$MODEL_PATH"', "exec python3 -m http.server 9000")


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package in which only figures of the contract differ; the folder to run it from."""
    folder = tmp_path_factory.mktemp("kit")
    shutil.copytree(ROOT / "healthcheck", folder / "healthcheck", ignore=shutil.ignore_patterns("__pycache__"))
    place = folder / "healthcheck" / "contract.py"
    text = place.read_text(encoding="utf-8")
    for old, new in CHANGES.items():
        assert text.count(f"\n{old}\n") == 1
        text = text.replace(f"\n{old}\n", f"\n{new}\n")
    place.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    return folder


def run(kit: Path, *arguments: str | Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": f"{kit}:{ROOT}"}, cwd=kit, capture_output=True, text=True, check=False, timeout=120,
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


def repeated(text: str) -> list[str]:
    """The lines with an old figure, but for the quoted rules and what happens to be the same."""
    quoted = [translation(language).say(rule.sentence) for rule in QUOTED for language in Language]
    for words in (*quoted, *OTHER_FIGURES):
        text = text.replace(words, "")
    return [line for line in text.splitlines() if OLD_FIGURES.search(line)]


@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "new"),
    [
        (ALL_PAGES, {NEW, "120 GB", "128,849,018,880", "120,000,000,000", "pass@7", "/v1/talk"}),
        (ALL_FAILURES, {NEW}),
        (ALL_OPTIONS, {NEW, "default: 120"}),
    ],
    ids=["pages", "failures", "options"],
)
def test_no_page_no_repair_of_a_failure_and_no_option_names_an_old_figure(
    code: str, new: set[str], kit: Path
) -> None:
    said = run(kit, "-c", code)
    assert {figure for figure in new if figure not in said} == set()
    assert repeated(said) == []


@pytest.mark.parametrize("language", set(Language) - {Language.ENGLISH})
def test_no_message_has_a_figure_of_the_contract_in_its_words(language: Language) -> None:
    texts = [text for pair in translations(language) for text in pair]
    assert len(texts) > 5000
    assert repeated("\n".join(texts)) == []


@pytest.mark.process
def test_weights_are_judged_by_the_limit_of_the_contract(kit: Path) -> None:
    fits, too_large = run(kit, "-c", SIZES).splitlines()
    assert fits.strip() == "pass"
    assert too_large.startswith("fail at most 120,000,000,000 bytes (120.00 GB)")
    assert "below 120 GiB (128,849,018,880 bytes)" in too_large
    assert repeated(too_large) == []


def findings(report: dict) -> list[dict]:
    """The findings, none of which expects or proposes an old figure, under titles and rules that do not name it."""
    found = [finding for check in report["checks"] for finding in check["evidence"]]
    said = [f"{check['title']} {check['why']} {check['rule']}" for check in report["checks"]]
    said += [f"{finding['expected']} {finding['fix']}" for finding in found]
    assert repeated("\n".join(said)) == []
    return found


@pytest.mark.process
@pytest.mark.parametrize("line", every(2, OTHERS))
def test_no_finding_about_a_bad_script_names_an_old_figure_by_itself(
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
