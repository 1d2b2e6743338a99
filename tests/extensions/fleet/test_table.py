"""The closing table of a fleet has the stages that ran, and reasons for what is not ready."""

from __future__ import annotations

from dataclasses import replace

from healthcheck.core.records import Verdict
from healthcheck.core.stages import Stage
from healthcheck.extensions.fleet import page
from healthcheck.extensions.fleet.records import Fleet, StageFacts, Tone
from healthcheck.extensions.fleet.show import table
from tests.extensions.fleet.test_page import FLEET, attempt, job


def test_the_table_has_only_the_stages_that_ran() -> None:
    heading, *_ = table(FLEET)
    assert heading.split() == ["job", "verdict", "repo", "plan", "time", "why"]
    html = page.render(FLEET).decode()
    assert '<th scope="col" class="stage">plan</th>' in html
    assert "numerics" not in html


def test_a_stage_that_every_job_skipped_did_not_run() -> None:
    last = attempt("alpha", Verdict.NOT_READY, "node-a")
    assert last.report is not None
    skipped = StageFacts(stage=Stage.PROBE, tone=Tone.SKIP, checks=7, seconds=0)
    report = replace(last.report, stages=(*last.report.stages, skipped))
    fleet = Fleet(jobs=(job("alpha"),), attempts=(replace(last, report=report),))
    assert "probe" not in table(fleet)[0]
    ran = replace(report, stages=(*last.report.stages, replace(skipped, tone=Tone.OPEN)))
    assert "probe" in table(replace(fleet, attempts=(replace(last, report=ran),)))[0]


def test_a_row_gives_no_reason_for_being_ready() -> None:
    rows = {line.split()[0]: line for line in table(FLEET)[1:6]}
    assert rows["alpha"].endswith("1 min 3 s") or rows["alpha"].endswith("63.0 s")
    assert "said" in rows["beta"]
