"""The page as text: what is in it, and that nothing of a stranger is markup. What it looks like: test_browser.py."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthcheck.contract import UNKNOWN
from healthcheck.core.check import fail
from healthcheck.core.records import CheckResult, Outcome, Report, verdict_of
from healthcheck.core.stages import Stage
from healthcheck.report import page
from healthcheck.report.excerpts import excerpts, script_json
from tests.support import reports


class Seen(HTMLParser):
    """The elements of a page with their attributes, and the texts of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        self.texts.append((self._open, data))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html() -> str:
    return page.render(reports.report(), reports.run()).decode()


def test_nothing_that_a_stranger_wrote_is_markup(html: str) -> None:
    seen = Seen(html)
    plain = Seen(page.render(reports.report(), reports.run(answer="no form")).decode())
    assert [tag for tag, _ in seen.elements] == [tag for tag, _ in plain.elements]
    assert len(seen.of("script")) == 2
    assert not any(
        name.startswith("on") or name in {"style", "src"} for _, a in seen.elements for name in a
    )
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_the_page_says_whose_it_is() -> None:
    about = {
        "repository": "/home/someone/my-adapter",
        "commit": "0123456789abcdef",
        "weights": "/data/Qwen3-8B",
        "at": "2026-11-21T13:36:00+00:00",
    }
    report = replace(reports.report(), provenance=about)
    line = "my-adapter · commit 0123456789ab · Qwen3-8B · 2026-11-21"
    assert ("p", line) in Seen(page.render(report).decode()).texts
    pending = page.render(replace(report, uncommitted="not committed yet")).decode()
    assert "commit 0123456789ab with uncommitted changes · " in pending
    assert 'class="small subject"' not in page.render(replace(report, provenance={})).decode()


@pytest.mark.parametrize(("samples", "struck"), [(5, True), (1, False)])
def test_what_is_struck_out_is_explained_and_nothing_else_is(samples: int, struck: bool) -> None:
    text = page.render(reports.report(), reports.run(samples=samples)).decode()
    assert "will print, beside what is true" in text
    assert (' class="misleads"' in text, page.CLIENT_NOTE in text) == (struck, struck)


def test_a_stage_in_which_the_run_ended_has_not_passed() -> None:
    fields = {"stage": Stage.SERVICE, "title": "", "why": ""}
    results = (
        CheckResult(id="service/port-free", outcome=Outcome.PASS, **fields),
        CheckResult(id="service/starts", outcome=Outcome.SKIP, because="interrupted", **fields),
    )
    report = Report(verdict=verdict_of(results), results=results, asked="", stopped="interrupted")
    html = page.render(report).decode()
    assert Seen(html).of("li")[0]["class"] == "stopped"
    assert "ended early, 1 check" in html


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else(html: str) -> None:
    seen = Seen(html)
    (policy,) = (
        a["content"] for a in seen.of("meta") if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for tag, mark in (("script", "script-src"), ("style", "style-src")):
        text = next(text for name, text in reversed(seen.texts) if name == tag)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[mark] == f"'sha256-{digest}'"


def test_what_ran_is_there_with_the_end_of_its_log(html: str) -> None:
    text = " ".join(re.sub(r"<[^>]*>", " ", html).split())
    for needed in ("/w --port 8000 --max-model-len 4096", "VLLM_USE_V1 1", "vLLM 0.23.0", "torch-npu unknown",
                   "devices 8 × 910B3", "the last lines of the log Started server"):  # fmt: skip
        assert needed in text


def test_the_first_words_of_a_simulated_endpoint_say_so() -> None:
    seen = Seen(page.render(reports.report(simulated=True)).decode())
    words = [
        text.strip() for tag, text in seen.texts if tag not in {"style", "script"} and text.strip()
    ]
    assert words[0].startswith("SIMULATED endpoint")
    (first, *_) = (text for tag, text in seen.texts if tag == "span" and len(text) > 1)
    assert first.startswith("SIMULATED endpoint")


def test_fails_come_first_and_carry_the_rule_and_the_repair(html: str) -> None:
    places = [
        html.index(f"npu-adapter explain {check}<")
        for check in ("plan/port", "endpoint/stream", "service/port-free")
    ]
    assert places == sorted(places)
    text = reports.text_of_options(html)
    for needed in (
        "deploy.sh:7: write --port 8000",
        "the HTTP server must listen on port 8000.",
        *UNKNOWN,
    ):
        assert needed in text


@pytest.mark.parametrize("command", ["sed -i '1s/^x//' deploy.sh", ""])
def test_a_command_can_be_copied(command: str) -> None:
    words = "git commit -a, or git stash changes that are not for the service"
    found = fail(expected="x", seen="y", fix=words, command=command, where="deploy.sh:3")
    result = CheckResult(
        id="repo/x", stage=Stage.REPO, title="x", outcome=Outcome.FAIL, why="y", findings=(found,)
    )
    report = Report(verdict=verdict_of((result,)), results=(result,), asked="repo")
    seen = Seen(page.render(report).decode())
    buttons = [each for each in seen.of("button") if each.get("class") == "copy"]
    wanted = 2 if command else 0  # the repair, and Next
    assert (seen.texts.count(("code", command)), len(buttons)) == (wanted, wanted)


def test_the_data_is_what_was_measured() -> None:
    run = reports.run()
    html = page.render(reports.report(), run).decode()
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert len(data["samples"]) == len(run.samples)
    outcomes = [sample["o"] for sample in data["samples"]]
    assert outcomes.count("failed") == 1
    assert outcomes.count("right") + outcomes.count("loose") == sum(
        grade.correct for grade in run.grades
    )
    assert data["samples"][1]["text"] == run.samples[1].text


def test_comparisons_are_a_table_by_relation_and_length_that_needs_no_script(html: str) -> None:
    table = html.split('<table class="heat">')[1].split("</table>", maxsplit=1)[0]
    head, *rows = table.split("<tr>")[1:]
    assert re.findall('scope="col">([^<]+)', head) == [
        "prompts up to",
        "32",
        "64",
        "256",
        "1k",
        "more",
    ]
    assert re.findall('<td class="(\\w+)">([^<]+)', rows[0]) == [("h0", "0.01")] * 5
    assert ("h3", "6.0") in re.findall('<td class="(\\w+)">([^<]+)', rows[1])
    bare = page.render(replace(reports.report(), metrics={})).decode()
    assert 'class="heat"' not in bare
    assert "#numerics" not in bare


@pytest.mark.slow
def test_no_number_of_answers_makes_a_page_too_large() -> None:
    for problems, answer in ((120, "long " * 5000), (120, "<" * 9000), (1200, "字" * 900)):
        size = len(page.render(reports.report(), reports.run(problems=problems, answer=answer)))
        assert size < 3 * 10**6, (problems, answer[:5])


def test_a_cut_answer_says_so_and_short_ones_stay_whole() -> None:
    html = page.render(reports.report(), reports.run(problems=12, answer="long " * 5000)).decode()
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    cut, whole = data["samples"][0], data["samples"][1]
    assert cut["text_whole"] == 25_000
    assert len(cut["text"]) < 25_000
    assert "text_whole" not in whole
    assert data["journal"] == "logs/samples.jsonl"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(), max_size=8), st.integers(0, 400))
def test_excerpts_fit_their_budget(texts: list[str], budget: int) -> None:
    shown = excerpts(texts, budget)
    assert sum(len(script_json(excerpt.text).encode()) - 2 for excerpt in shown) <= budget
    for excerpt, text in zip(shown, texts, strict=True):
        assert excerpt.whole == len(text)
        assert excerpt.cut or len(excerpt.text) >= len(text)


@given(st.text())
def test_script_json_is_json_that_no_text_can_leave(text: str) -> None:
    made = script_json({"text": text.encode("utf-8", "replace").decode()})
    assert not set(made) & set("<>&\u2028\u2029")
    assert json.loads(made)["text"] == text.encode("utf-8", "replace").decode()
