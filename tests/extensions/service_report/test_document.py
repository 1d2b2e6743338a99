"""Messages in report.json: another machine says them in its own language, and believes no more than the text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthcheck.core.records import Outcome, Verdict, verdict_of
from healthcheck.errors import UsageError
from healthcheck.extensions.service_report import document
from healthcheck.report import folder, lines, page, terminal, words
from healthcheck.report.recorded import Recorded, read, record
from healthcheck.system import json_text
from healthcheck.text.language import Language, translation
from healthcheck.text.messages import joined, msg, plural
from tests.support import reports

CHINESE = translation(Language.CHINESE)
WORDS = st.text(max_size=20)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
MESSAGES = st.recursive(
    WORDS.map(lambda text: msg("port {port}", port=text)) | st.just(msg("passed")),
    lambda inner: st.one_of(
        st.lists(inner | WORDS, max_size=4).map(lambda parts: joined(", ", parts)),
        st.tuples(inner | WORDS, inner).map(
            lambda pair: msg("expected {expected}; saw {seen}", expected=pair[0], seen=pair[1])
        ),
        st.tuples(st.integers(0, 3), inner).map(
            lambda pair: plural(
                "; {n} warning: {listed}",
                "; {n} warnings: {listed}",
                pair[0],
                n=pair[0],
                listed=pair[1],
            )
        ),
        NUMBERS.map(lambda number: msg("{number:.1f} %", number=number)),
    ),
    max_leaves=8,
)


def through_json(value: object) -> Recorded:
    return json_text.load_as(json_text.dump(value), Recorded)


@settings(max_examples=60, deadline=None)
@given(MESSAGES)
def test_a_recorded_message_is_said_as_the_first_one(message) -> None:
    again = read(str.__str__(message), through_json(record(message)))
    assert again == message
    assert CHINESE.say(again) == CHINESE.say(message)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("simulated", [True, False])
def test_a_report_is_read_in_either_language(
    language: Language, simulated: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, chosen = reports.report(simulated=simulated), translation(language)
    folder.write(tmp_path, whole)
    again = document.load(tmp_path / folder.JSON)
    for show in (terminal.show, terminal.show_everything):
        show(whole, chosen)
        first = capsys.readouterr().out
        show(again, chosen)
        assert capsys.readouterr().out == first
    assert list(lines.brief(again, chosen)) == list(lines.brief(whole, chosen))
    assert ("未就绪" in first) is (language is Language.CHINESE)


@pytest.mark.parametrize(
    "reason", [{"stopped": msg("interrupted")}, {"uncommitted": msg("deploy.sh is not committed")}]
)
def test_why_a_run_ended_or_is_not_ready_is_read_back(reason, tmp_path: Path) -> None:
    whole = reports.report()
    passed = tuple(result for result in whole.results if result.outcome is Outcome.PASS)
    whole = replace(whole, results=passed, verdict=verdict_of(passed, **reason), **reason)
    folder.write(tmp_path, whole)
    again = document.load(tmp_path / folder.JSON)
    assert words.headline(again) == words.headline(whole)
    assert CHINESE.say(words.headline(again)) == CHINESE.say(words.headline(whole))
    assert words.next_step(again) == words.next_step(whole)


def test_the_headline_and_the_next_steps_are_read_back(tmp_path: Path) -> None:
    whole = reports.report()
    passed = tuple(result for result in whole.results if result.outcome is Outcome.PASS)
    report = replace(
        whole,
        results=passed,
        verdict=Verdict.READY,
        asked="repo to plan",
        scope=msg("up to {stage}", stage="plan"),
        folder="my repo",
        program=("python3", "-m", "healthcheck"),
    )
    folder.write(tmp_path, report)
    again = document.load(tmp_path / folder.JSON)
    assert words.headline(again) == words.headline(report)
    assert CHINESE.say(words.headline(again)) == CHINESE.say(words.headline(report))
    unready = {"uncommitted": "x", "verdict": Verdict.NOT_READY}
    assert words.next_steps(replace(again, **unready)) == words.next_steps(
        replace(report, **unready)
    )


def test_a_report_without_templates_is_read_as_it_is(tmp_path: Path) -> None:
    folder.write(tmp_path, reports.report())
    file = tmp_path / folder.JSON
    older = {
        key: value for key, value in json.loads(file.read_bytes()).items() if key != "messages"
    }
    older["checks"] = [
        {key: value for key, value in check.items() if key != "messages"}
        for check in older["checks"]
    ]
    for check in older["checks"]:
        for finding in check["evidence"]:
            finding.pop("messages")
    file.write_text(json.dumps(older))
    assert b"messages" not in file.read_bytes()
    assert CHINESE.say(document.load(file).results[0].title) == reports.report().results[0].title


@pytest.mark.parametrize(
    "recorded",
    [
        {"template": "port {port}", "values": {"port": 8001}},
        {"template": "port {port}", "values": {}},
        {"template": "port {port}", "values": {"seen": 8000}},
        {"template": "port {port:>999999999999}", "values": {"port": 8000}},
        {"template": "port {port.__class__}", "values": {"port": 8000}},
        {"template": "port {port:q}", "values": {"port": 8000}},
        {"template": "port {", "values": {"port": 8000}},
        {"separator": " ", "parts": ["port", 8001]},
        {"template": "{n} port", "plural": "{n} ports", "number": 2, "values": {"n": 2}},
        {},
    ],
    ids=str,
)
def test_a_record_that_says_something_else_is_not_believed(recorded) -> None:
    found = read("port 8000", through_json(recorded))
    assert type(found) is str
    assert found == "port 8000"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema": 2}', '{"schema": 1, "verdict": "ready", "checks": 5}']
)
def test_what_is_no_report_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="not a report"):
        document.load(file)


def test_a_page_has_the_language_of_the_reader_not_of_the_run(tmp_path: Path) -> None:
    folder.write(tmp_path, reports.report())
    again = document.load(tmp_path / folder.JSON)
    assert "未就绪" in page.render(again, translation=CHINESE).decode()
