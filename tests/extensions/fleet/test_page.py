"""The page of a run: what it shows, in a real browser too, and what strangers write into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.records import Verdict
from healthcheck.core.stages import Stage
from healthcheck.extensions.fleet import findings, page
from healthcheck.extensions.fleet.records import (
    Attempt,
    Ending,
    Fleet,
    Job,
    Problem,
    ReportFacts,
    Source,
    StageFacts,
    Tone,
)
from tests.support.chromium import Browser

EVIL = "<img src=x onerror='window.broken=1'></td><script>window.broken=1</script>{{ 7 * 7 }}"


def job(name: str) -> Job:
    return Job(
        name=name, source=Source(shown=f"/adapters/{name}", place=f"/adapters/{name}"), weights="/data", npus=8, npu="",
        until=Stage.PROBE, words=(), digest=name[:1], folder="/", where="jobs.toml:1",
    )  # fmt: skip


def report(verdict: Verdict, *problems: Problem) -> ReportFacts:
    tone = {
        Verdict.READY: Tone.PASS,
        Verdict.NOT_READY: Tone.FAIL,
        Verdict.INCONCLUSIVE: Tone.OPEN,
    }[verdict]
    return ReportFacts(
        verdict=verdict, headline=f"{verdict.value}: said", problems=problems, simulated=True, page=True,
        stages=(StageFacts(stage=Stage.REPO, tone=Tone.PASS, checks=12, seconds=0.5),
                StageFacts(stage=Stage.PLAN, tone=tone, checks=30, seconds=2)),
    )  # fmt: skip


def attempt(name: str, verdict: Verdict, node: str, number: int = 1, *problems: Problem) -> Attempt:
    status = {Verdict.READY: 0, Verdict.NOT_READY: 1, Verdict.INCONCLUSIVE: 3}[verdict]
    return Attempt(
        job=name, digest=name[:1], number=number, ending=Ending.DONE, commit="c" * 40, node=node, seconds=63.0,
        devices=("0", "1"), status=status, report=report(verdict, *problems),
    )  # fmt: skip


PORT = Problem(check="plan/port", tone=Tone.FAIL, said=EVIL)
FLEET = Fleet(
    jobs=tuple(map(job, ("alpha", "beta", "bravo", "gamma", "omega"))),
    attempts=(
        attempt("alpha", Verdict.INCONCLUSIVE, "node-b"),
        attempt("alpha", Verdict.READY, "node-a", 2),
        attempt("beta", Verdict.NOT_READY, "node-a", 1, PORT),
        attempt("bravo", Verdict.NOT_READY, "node-b", 1, PORT),
        Attempt(job="gamma", digest="g", number=1, ending=Ending.LOST, node=EVIL, said=EVIL),
    ),
    stopped="interrupted",
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fleet") / "fleet.html"
    path.write_bytes(page.render(FLEET))
    return path


def test_what_failed_most_and_which_nodes_misbehave() -> None:
    (most,) = findings.frequent(FLEET)
    assert (most["check"], most["jobs"]) == ("plan/port", ["beta", "bravo"])
    nodes = {node["name"]: node for node in findings.nodes(FLEET.attempts)}
    assert (
        nodes["node-a"]["ready"],
        nodes["node-a"]["not_ready"],
        nodes["node-b"]["inconclusive"],
    ) == (1, 1, 1)
    assert nodes[EVIL]["lost"] == 1


def test_text_of_strangers_is_escaped(file: Path) -> None:
    text = file.read_text("utf-8")
    assert "<img" not in text
    assert "<script" not in text
    assert "{{ 7 * 7 }}" in text


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_reader_sees_the_matrix_and_nothing_complains(
    browser: Browser, file: Path, width: int
) -> None:
    tab = browser.open(file, width=width)
    text = tab.text()
    for needed in ("5 jobs: 1 ready, 2 not ready, 1 inconclusive, 1 without a result", "go on with --resume",
                   "SIMULATED endpoints", "What failed most", "plan/port", "63.0 s", "0, 1",
                   "lost"):  # fmt: skip
        assert needed.lower() in text.lower(), needed
    assert tab.evaluate("document.querySelectorAll('#jobs tbody tr').length") == 5
    link = "document.querySelector('#jobs a').getAttribute('href')"
    assert tab.evaluate(link) == "jobs/alpha/attempt-2/report/report.html"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate(
        "window.broken === undefined && document.querySelectorAll('img, script').length === 0"
    )
    assert tab.complaints() == []
    assert tab.requests() == [file.as_uri()]


@pytest.mark.slow
def test_a_link_leads_to_the_report(browser: Browser, file: Path) -> None:
    target = file.parent / "jobs/alpha/attempt-2/report/report.html"
    target.parent.mkdir(parents=True)
    target.write_text("<title>the report of alpha</title>")
    tab = browser.open(file, width=1280)
    tab.follow("#jobs a")
    assert tab.evaluate("document.title") == "the report of alpha"
