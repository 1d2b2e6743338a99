"""A repair is on the terminal as it is in report.json: to paste it is to run it."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.core.check import fail
from healthcheck.core.records import CheckResult, Outcome, Report, Verdict
from healthcheck.report import machine, terminal
from healthcheck.stages.plan.checks.port import port
from healthcheck.stages.repo.facts import read_submission
from healthcheck.text.language import Language, translation
from tests.support.repositories import judged, repository

LABELS = {Language.ENGLISH: ("fix", "Next: "), Language.CHINESE: ("修复", "下一步：")}
WIDE = 4000


def lines(result: CheckResult, language: Language, width: int = 40) -> list[str]:
    """What the terminal prints."""
    report = Report(verdict=Verdict.NOT_READY, results=(result,), asked="repo to plan")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("COLUMNS", str(width))
        terminal.show(report, translation(language))
    return printed.getvalue().splitlines()


def shown(result: CheckResult, language: Language) -> tuple[str, str]:
    """The line of the first repair and the next step, as the terminal prints them."""
    label, following = LABELS[language]
    printed = lines(result, language, WIDE)
    repair = next(line for line in printed if line.lstrip().startswith(label))
    return repair.lstrip().removeprefix(label).lstrip(), printed[-1].removeprefix(following)


def recorded(result: CheckResult) -> str:
    report = Report(verdict=Verdict.NOT_READY, results=(result,), asked="repo to plan")
    return json.loads(machine.render(report))["checks"][0]["fix"]


@pytest.mark.parametrize("language", Language)
@given(
    fix=st.text(st.sampled_from("\\[]/'$* ab:é限"), max_size=60).map("x{}x".format)
    | st.sampled_from(
        [r"s/\[ \t]*$/\\/", "[red]x[/]", r"\\[bold]", ":bug:", "[link=a]b[/link]", "[/x]", "\\"]
    )
)
def test_a_repair_is_printed_as_it_is_recorded(language: Language, fix: str) -> None:
    result = port.result(Outcome.FAIL, findings=(fail(expected="a", seen="b", fix=fix),))
    assert shown(result, language) == (fix, fix)
    assert recorded(result) == fix


@pytest.mark.process
@pytest.mark.parametrize("language", Language)
def test_a_repair_works_as_it_is_printed(language: Language, tmp_path: Path) -> None:
    launch = '#!/bin/sh\nexec vllm serve "$MODEL_PATH" \\%s\n  --port 8000\n'
    root = repository(tmp_path, {"deploy.sh": launch % " "})
    result = judged(read_submission(root), "repo/deploy-sh-syntax")
    command = result.findings[0].command
    printed = [line.strip() for line in lines(result, language)]
    assert printed.count(command) == 2
    subprocess.run(["/bin/sh", "-c", command], cwd=root, check=True)
    assert (root / "deploy.sh").read_text() == launch % ""
