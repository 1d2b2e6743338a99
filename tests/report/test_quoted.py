"""What a report quotes is in every form of it as it was, in both languages; its own words are in the reader's."""

from __future__ import annotations

import contextlib
import html
import io
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from string import Formatter
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthcheck.cli import main
from healthcheck.core.check import fail
from healthcheck.core.records import CheckResult, Finding, Outcome, Report, Verdict
from healthcheck.report import github, junit, lines, machine, page, summary, terminal
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.endpoint.answers import response_of
from healthcheck.stages.plan.checks.port import port
from healthcheck.stages.plan.checks.starts_server import starts_server
from healthcheck.stages.plan.records import LaunchPlan, ShellRun
from healthcheck.stages.repo.checks.deploy_sh_syntax import deploy_sh_syntax
from healthcheck.stages.repo.facts import read_submission
from healthcheck.stages.service.failures import explain
from healthcheck.stages.service.records import Launch, LaunchOutcome
from healthcheck.text.language import Language, Translation, translation
from healthcheck.text.messages import Message, msg, names
from healthcheck.wire.client import Exchange
from tests.support.catalogues import translations
from tests.support.reports import text_of_options
from tests.support.repositories import GOOD_SCRIPT, repository

LINES = (
    "ValueError: expected a number from 0 to 2, not 5",
    "KeyError: weights and tasks, for at most 30 s",
    "RuntimeError: port 8001 (--port 8001), not ready",
)
CHINESE = translation(Language.CHINESE)
ESCAPED = frozenset('"\\`\n')
"""What JSON, and the code of Markdown, write in another way."""


def places(template: str) -> list[tuple[str, str]]:
    """The name and the format of each place; none where the braces of a text are no places."""
    try:
        return [(name, spec or "") for _, name, spec, _ in Formatter().parse(template) if name]
    except ValueError:
        return []


def takes_texts(template: str, said: str) -> bool:
    """Whether every value of a message may be a text and is in both languages; the message is one plain line."""
    found = places(template)
    return (
        bool(found)
        and not any(spec for _, spec in (*found, *places(said)))
        and dict(found).keys() == dict(places(said)).keys()
        and not ESCAPED & set(template + said)
        and not re.search(r"\s{2}|^\s|\s$", template + said)
        and len(template) < 300
    )


SAID = {
    template: said
    for template, said in translations(Language.CHINESE)
    if template == template.strip()
}
TEMPLATES = sorted(
    each for each, said in SAID.items() if "{}" not in each and takes_texts(each, said)
)
ENGLISH_TEXTS = sorted(
    each
    for each in SAID
    if each == " ".join(each.split()) and not ESCAPED & set(each) and len(each) < 80
)
QUOTED = (*LINES, *(each for each in ENGLISH_TEXTS if not set("{}'$#“”") & set(each)))[
    :: len(ENGLISH_TEXTS) // 7
]
"""Lines of a log or a script, some of them texts of the kit itself."""

CHARACTERS = st.characters(
    codec="utf-8", categories=("L", "N", "P", "S"), exclude_characters=sorted(ESCAPED)
)
STRANGE = st.lists(st.text(CHARACTERS, min_size=1, max_size=12), min_size=1, max_size=4).map(
    " ".join
)
FILLED = st.builds(
    lambda template, value: str.__str__(msg(template, **dict.fromkeys(names(template), value))),
    st.sampled_from(TEMPLATES),
    st.sampled_from(("port 1", "nothing", "{port}", "{0} {} {{")),
)
WORDS_OF_OTHERS = st.one_of(STRANGE, FILLED, st.sampled_from(ENGLISH_TEXTS), st.sampled_from(LINES))
"""What a server, a script or a user may write: anything, and what the kit itself says."""


@st.composite
def messages(draw: st.DrawFn) -> tuple[Message, list[str]]:
    """A message of the kit, and what it quotes."""
    template = draw(st.sampled_from(TEMPLATES))
    values = {name: draw(WORDS_OF_OTHERS) for name in names(template)}
    return msg(template, **values), list(values.values())


def result_of(finding: Finding) -> CheckResult:
    return port.result(Outcome.FAIL, findings=(finding,))


def of_the_script(line: str, root: Path) -> CheckResult:
    script = f'#!/bin/sh\n: {line} \\ \nexec vllm serve "$MODEL_PATH"\n'.encode()
    result = deploy_sh_syntax.judge(replace(read_submission(root), deploy_sh=script))
    return result_of(next(each for each in result.findings if line in each.seen))


def of_the_dry_run(line: str, root: Path) -> CheckResult:
    run = ShellRun(
        shell="sh",
        exit_status=3,
        ended_by=EndedBy.EXIT,
        stdout="",
        stderr=f"{line}\n",
        commands=(),
        servers=(),
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
    return result_of(
        fail(expected="a streamed answer", seen=response_of(exchange), fix="look into the log")
    )


SOURCES = {
    "a line of deploy.sh": of_the_script,
    "the output of deploy.sh": of_the_dry_run,
    "the log of the server": of_the_log,
    "a response": of_a_response,
}


def printed(show: Callable[[Report, Translation], None]) -> Callable[[Report, Translation], str]:
    def shown(report: Report, chosen: Translation) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            show(report, chosen)
        return out.getvalue()

    return shown


FORMS: dict[str, Callable[[Report, Translation], str]] = {
    "terminal": printed(terminal.show),
    "terminal, everything": printed(terminal.show_everything),
    "lines": lambda report, chosen: "\n".join(lines.brief(report, chosen)),
    "summary": summary.render,
    "page": lambda report, chosen: html.unescape(
        text_of_options(page.render(report, translation=chosen).decode())
    ),
    "annotations": lambda report, chosen: "\n".join(github.commands(report, chosen)).replace(
        "%25", "%"
    ),
    "junit": lambda report, chosen: html.unescape(junit.render(report, chosen).decode()),
    "json": lambda report, _: machine.render(report).decode(),
}


@pytest.mark.parametrize("language", Language)
@settings(max_examples=30, deadline=None)
@given(seen=messages(), fix=messages(), bare=WORDS_OF_OTHERS)
def test_what_a_message_quotes_stays_byte_for_byte_in_every_form(
    language: Language, seen: tuple[Message, list[str]], fix: tuple[Message, list[str]], bare: str
) -> None:
    chosen = translation(language)
    findings = (
        fail(expected=msg("a streamed answer"), seen=seen[0], fix=fix[0]),
        fail(expected=msg("a streamed answer"), seen=bare, fix=""),
    )
    result = port.result(Outcome.FAIL, findings=findings)
    report = Report(verdict=Verdict.NOT_READY, results=(result,), asked="repo to plan")
    with mock.patch.dict(os.environ, {"COLUMNS": "40000"}):
        shown = {form: render(report, chosen) for form, render in FORMS.items()}
    quoted = {"lines": seen[1] + fix[1]}
    every = [*seen[1], *fix[1], bare]
    lost = [
        (form, text)
        for form, made in shown.items()
        for text in quoted.get(form, every)
        if text not in made
    ]
    assert lost == []
    assert chosen.say(seen[0]) in shown["page"]
    assert chosen.say(seen[0]) in shown["terminal"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("quoted") / "r", {"deploy.sh": GOOD_SCRIPT})


@pytest.mark.process
@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("source", SOURCES)
def test_a_quoted_line_stays_in_every_form(
    source: str, language: Language, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "4000")
    changed = []
    for line in QUOTED:
        report = Report(
            verdict=Verdict.NOT_READY, results=(SOURCES[source](line, root),), asked="repo to plan"
        )
        shown = {form: render(report, translation(language)) for form, render in FORMS.items()}
        assert ("未就绪" in shown["terminal"]) is (language is Language.CHINESE)
        changed += [(form, line) for form, text in shown.items() if line not in text]
    assert changed == []


@pytest.mark.process
@pytest.mark.parametrize("language", [each.value for each in Language])
def test_diagnose_quotes_a_log_as_it_is(
    language: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_LANG", language)
    log = tmp_path / "nothing and port 1.log"
    for line in QUOTED:
        log.write_text(f"Traceback (most recent call last):\n{line}\n")
        main(["diagnose", str(log)])
        said = capsys.readouterr().out
        assert line in said
        assert str(log) in said or said.startswith("no known")
