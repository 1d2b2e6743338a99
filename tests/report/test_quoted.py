"""What a report quotes is in every form of it as it was, in both languages; its own words are in the reader's."""

from __future__ import annotations

import contextlib
import html
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.check import fail
from healthcheck.cli import compare, main
from healthcheck.endpoint.wording import response_of
from healthcheck.language import Language, phrases
from healthcheck.phrases import Phrases
from healthcheck.plan.checks.port import port
from healthcheck.plan.checks.starts_server import starts_server
from healthcheck.plan.records import LaunchPlan, ShellRun
from healthcheck.probe.folder import load
from healthcheck.probe.two_runs import compare_runs
from healthcheck.records import CheckResult, Finding, Outcome, Report, Verdict
from healthcheck.repo.checks.deploy_sh_syntax import deploy_sh_syntax
from healthcheck.repo.facts import read_submission
from healthcheck.report import github, junit, lines, machine, page, sarif, side_by_side, summary, terminal
from healthcheck.sandbox.job import EndedBy
from healthcheck.service.failures import explain
from healthcheck.service.records import Launch, LaunchOutcome
from healthcheck.wire.client import Exchange
from tests.probe.conftest import recorded, rewritten
from tests.support.repositories import GOOD_SCRIPT, repository

pytestmark = pytest.mark.process

LINES = (
    "ValueError: expected a number from 0 to 2, not 5",
    "KeyError: weights and tasks, for at most 30 s",
    "RuntimeError: port 8001 (--port 8001), not ready",
)
MESSAGES = [phrase.message.format(*["port 1"] * 20, s="s") for phrase in phrases(Language.CHINESE)._open]
PLAIN = [text.strip() for text in MESSAGES if len(text) < 80 and not set("`\"'$\\“”\n") & set(text)]
QUOTED = (*LINES, *sorted(set(PLAIN))[:: len(PLAIN) // 6])
"""Lines of a log or a script, some of them made from the messages of the kit itself."""


def result_of(finding: Finding) -> CheckResult:
    return port.result(Outcome.FAIL, findings=(finding,))


def of_the_script(line: str, root: Path) -> CheckResult:
    script = f'#!/bin/sh\n: {line} \\ \nexec vllm serve "$MODEL_PATH"\n'.encode()
    result = deploy_sh_syntax.judge(replace(read_submission(root), deploy_sh=script))
    return result_of(next(each for each in result.findings if line in each.seen))


def of_the_dry_run(line: str, root: Path) -> CheckResult:
    run = ShellRun(
        shell="sh", exit_status=3, ended_by=EndedBy.EXIT, stdout="", stderr=f"{line}\n", commands=(), servers=()
    )
    plan = LaunchPlan(
        server=None, servers=(), commands=(), spaced=None, model_path="/w", spaced_model_path="/w w", root="/r", run=run
    )  # fmt: skip
    return starts_server.judge(plan)


def of_the_log(line: str, root: Path) -> CheckResult:
    launch = Launch(
        outcome=LaunchOutcome.EXITED, command=("sh", "deploy.sh"), log=root / "launch.log", port=8000, deadline_s=9,
        pid=1, exit_status=1, log_tail=("INFO starting", line),
    )  # fmt: skip
    return result_of(explain(launch))


def of_a_response(line: str, root: Path) -> CheckResult:
    exchange = Exchange(status=500, reason="Internal Server Error", body=line.encode())
    return result_of(fail(expected="a streamed answer", seen=response_of(exchange), fix="look into the log"))


SOURCES = {
    "a line of deploy.sh": of_the_script,
    "the output of deploy.sh": of_the_dry_run,
    "the log of the server": of_the_log,
    "a response": of_a_response,
}


def printed(show: Callable[[Report, Phrases], None]) -> Callable[[Report, Phrases], str]:
    def shown(report: Report, chosen: Phrases) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            show(report, chosen)
        return out.getvalue()

    return shown


FORMS: dict[str, Callable[[Report, Phrases], str]] = {
    "terminal": printed(terminal.show),
    "terminal, everything": printed(terminal.show_everything),
    "lines": lambda report, chosen: "\n".join(lines.brief(report, chosen)),
    "summary": summary.render,
    "page": lambda report, chosen: html.unescape(page.render(report, phrases=chosen).decode()),
    "annotations": lambda report, chosen: "\n".join(github.commands(report, chosen)).replace("%25", "%"),
    "junit": lambda report, _: html.unescape(junit.render(report).decode()),
    "sarif": lambda report, _: sarif.render(report).decode(),
    "json": lambda report, _: machine.render(report).decode(),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("quoted") / "r", {"deploy.sh": GOOD_SCRIPT})


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("source", SOURCES)
def test_a_quoted_line_stays_in_every_form(
    source: str, language: Language, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "4000")
    changed = []
    for line in QUOTED:
        report = Report(verdict=Verdict.NOT_READY, results=(SOURCES[source](line, root),), asked="repo to plan")
        shown = {form: render(report, phrases(language)) for form, render in FORMS.items()}
        assert ("未就绪" in shown["terminal"]) is (language is Language.CHINESE)
        changed += [(form, line) for form, text in shown.items() if line not in text]
        assert not any(mark in text for text in shown.values() for mark in "\ufdd0\ufdd1")
    assert changed == []


@pytest.mark.parametrize("language", [each.value for each in Language])
def test_diagnose_quotes_a_log_as_it_is(
    language: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_LANG", language)
    log = tmp_path / "nothing and port 1.log"
    for line in QUOTED:
        log.write_text(f"Traceback (most recent call last):\n{line}\n")
        main(["diagnose", str(log)])
        said = capsys.readouterr().out
        assert line in said
        assert str(log) in said or said.startswith("no known")


@pytest.mark.parametrize("language", Language)
def test_a_comparison_quotes_answers_as_they_are(
    language: Language, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_LANG", language.value)
    right, wrong = load(recorded(tmp_path / "a", 1.0)), load(recorded(tmp_path / "b", 0.0))
    for line in QUOTED:
        runs = right, rewritten(wrong, lambda sample, line=line: replace(sample, text=line))
        result = compare_runs(*runs, margin=0.05)
        shown = html.unescape(side_by_side.render(result, runs, "", [("a",)], phrases(language)).decode())
        said = [phrases(language).say(text) for text in compare.lines_of(result)]
        assert line in shown
        assert any(text.endswith(line) for text in said)
