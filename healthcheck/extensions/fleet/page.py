"""fleet.html: the matrix of jobs and stages, the most frequent failures, and the nodes. It has no script.

All content is escaped, and its policy allows nothing but its own style.
"""

from __future__ import annotations

from markupsafe import Markup

from healthcheck import __version__
from healthcheck.core.records import Verdict
from healthcheck.core.stages import Stage
from healthcheck.extensions.fleet import findings
from healthcheck.extensions.fleet.launch import LOG, REPORT
from healthcheck.extensions.fleet.records import Attempt, Ending, Fleet, Job, StageFacts, Tone
from healthcheck.report import folder as report_folder
from healthcheck.report import page as report_page
from healthcheck.report.words import BY_TONE, duration, plain
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import joined, msg, plural
from healthcheck.text.redact import without_secrets

VERDICTS = {
    Verdict.READY: msg("ready"), Verdict.NOT_READY: msg("not ready"), Verdict.INCONCLUSIVE: msg("inconclusive")
}  # fmt: skip
ENDINGS = {
    Ending.TIME_LIMIT: msg("time limit"), Ending.LOST: msg("lost"), Ending.NO_FIT: msg("fits no machine"),
    Ending.NO_REPOSITORY: msg("no repository"),
}  # fmt: skip
MOST_FREQUENT = 15
MOST_JOBS_NAMED = 12


def render(fleet: Fleet, translation: Translation = ENGLISH) -> bytes:
    """The page as UTF-8 HTML."""
    style = report_page.part("page.css") + report_page.part("fleet.css", __package__)
    lines = [_line(fleet, job) for job in fleet.jobs]
    worst = min((line["verdict"] for line in lines), key=_ORDER.index, default="inconclusive")
    legend = (
        msg("{name} {value}", name=report_page.TONES[tone], value=word)
        for tone, word in BY_TONE.items()
    )
    text = (
        report_page.environment(translation)
        .from_string(report_page.part("fleet.html.j2", __package__))
        .render(
            headline=headline(fleet),
            verdict=worst,
            stopped=fleet.stopped,
            lines=lines,
            stages=[stage.name for stage in stages_that_ran(fleet)],
            marks=report_page.MARKS,
            tones=report_page.TONES,
            words=BY_TONE,
            frequent=list(findings.frequent(fleet))[:MOST_FREQUENT],
            most_named=MOST_JOBS_NAMED,
            nodes=list(findings.nodes(fleet.attempts)),
            left_out=[plain(without_secrets(text)) for text in fleet.left_out],
            legend=joined(", ", legend),
            duration=duration,
            title=_title,
            simulated=any(line["simulated"] for line in lines),
            style=Markup(style),  # noqa: S704 - the kit's own files
            policy=f"default-src 'none'; style-src '{report_page.digest(style)}'; img-src data:; base-uri 'none'; "
            "form-action 'none'",
            version=__version__,
        )
    )
    return text.encode()


def stages_that_ran(fleet: Fleet) -> tuple[Stage, ...]:
    """The stages of which some job has a check that was not skipped, in their order."""
    reports = (last.report for job in fleet.jobs if (last := fleet.last(job)))
    ran = {
        facts.stage
        for report in reports
        if report
        for facts in report.stages
        if facts.tone is not Tone.SKIP
    }
    return tuple(sorted(ran, key=lambda stage: (stage.place, stage.name)))


_ORDER = ("not-ready", "inconclusive", "open", "ready")


def headline(fleet: Fleet) -> str:
    """The number of jobs for each verdict."""
    lasts = [fleet.last(job) for job in fleet.jobs]
    counts = {words: sum(verdict_words(last) == words for last in lasts) for words in _COUNTED}
    each = joined(", ", (msg("{n} {w}", n=n, w=w) for w, n in counts.items() if n))
    return plural("{n} job: ", "{n} jobs: ", len(lasts), n=len(lasts)) + each


_COUNTED = (msg("ready"), msg("not ready"), msg("inconclusive"), msg("without a result"))


def verdict_words(last: Attempt | None) -> str:
    """The verdict of a job in words."""
    return VERDICTS[last.verdict] if last else msg("without a result")


def said(last: Attempt | None) -> str:
    """Why a job ended as it did, on one line."""
    if last is None:
        return msg("it did not run, or was interrupted")
    reason = last.said or (last.report.message if last.report else "")
    parts = (*(() if last.ending is Ending.DONE else (ENDINGS[last.ending],)), reason)
    return plain(without_secrets(joined(": ", filter(None, parts))))


def _line(fleet: Fleet, job: Job) -> dict[str, object]:
    """A job in the matrix, for the template."""
    last = fleet.last(job)
    commit, report = (last.commit, last.report) if last else (job.source.commit, None)
    by_stage = {facts.stage: facts for facts in report.stages} if report else {}
    place = last.folder.as_posix() if last and last.node and last.ending is not Ending.LOST else ""
    report_file = report_folder.PAGE if report and report.page else report_folder.JSON
    return {
        "name": job.name,
        "subject": without_secrets(f"{job.source.shown} {commit[:12]}".strip()),
        "verdict": last.verdict.value if last else "open",
        "words": verdict_words(last),
        "cells": tuple(map(by_stage.get, stages_that_ran(fleet))),
        "link": f"{place}/{REPORT}/{report_file}" if report else f"{place}/{LOG}" if place else "",
        "log": f"{place}/{LOG}" if place else "",
        "time": duration(last.seconds) if last and last.seconds else "",
        "ran_on": _ran_on(fleet, job),
        "said": said(last),
        "simulated": bool(report and report.simulated),
    }


def _ran_on(fleet: Fleet, job: Job) -> str:
    """Node, devices and the number of attempts, if informative."""
    last = fleet.last(job)
    attempts = len(fleet.of(job))
    devices = last.devices if last else ()
    parts = [
        last.node if last else "",
        plural("device {ids}", "devices {ids}", len(devices), ids=joined(", ", devices))
        if devices
        else "",
        msg("{attempts} attempts", attempts=attempts) if attempts > 1 else "",
    ]
    return joined("; ", filter(None, parts))


def _title(facts: StageFacts) -> str:
    """The outcome of a stage in words."""
    checks = plural("{n} check", "{n} checks", facts.checks, n=facts.checks)
    said = msg(
        "{outcome}, {checks}, {time}",
        outcome=BY_TONE[facts.tone.value],
        checks=checks,
        time=duration(facts.seconds),
    )
    return msg("{name}: {value}", name=facts.stage.name, value=said)
