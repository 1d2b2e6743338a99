"""Which sandbox is used, that reports name it, and that a submission cannot influence it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.errors import Blocked
from healthcheck.sandbox import box, safely
from healthcheck.sandbox.job import CONSENT_VARIABLE, EndedBy, Job, Limits, Mode, Recording
from healthcheck.stages.plan import facts
from healthcheck.stages.plan.checks import CHECKS
from healthcheck.stages.repo.facts import read_submission
from tests.support.daily import every
from tests.support.repositories import GOOD_SCRIPT, repository

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NEITHER = "userns,landlock"


def verified(
    tmp_path: Path, lacks: str, *words: str, **variables: str
) -> tuple[int, dict[str, object], str]:
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    (tmp_path / "w").mkdir()
    (tmp_path / "w/config.json").write_text('{"model_type": "qwen3"}')
    command = (
        sys.executable,
        str(HERE / "lacking.py"),
        lacks,
        sys.executable,
        "-I",
        "-m",
        "healthcheck",
        "verify",
    )
    done = subprocess.run(
        (*command, str(root), "--weights", str(tmp_path / "w"), "--json", "-", "--quiet", *words),
        env={**os.environ, "LACKING_PACKAGE": str(ROOT), **variables},
        cwd="/", capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.process
@pytest.mark.parametrize(
    ("lacks", "words", "variables", "mode"),
    [
        ("userns", (), {}, "confined"),
        pytest.param(NEITHER, ("--unconfined",), {}, "unconfined", marks=pytest.mark.slow),
        (NEITHER, (), {CONSENT_VARIABLE: "1"}, "unconfined"),
    ],
)
def test_the_mode_stands_beside_the_verdict(
    lacks: str, words: tuple[str, ...], variables: dict[str, str], mode: str, tmp_path: Path
) -> None:
    status, report, complained = verified(tmp_path, lacks, "--until", "plan", *words, **variables)
    assert status == 0, complained
    assert report["provenance"]["sandbox"] == mode  # type: ignore[index]
    assert f"the dry run was {mode}" in str(report["headline"])


@pytest.mark.process
@pytest.mark.parametrize("refusal", every(3, ["", "0", "false"]))
def test_without_any_and_without_consent_nothing_is_run_and_three_repairs_are_named(
    refusal: str, tmp_path: Path
) -> None:
    status, report, _ = verified(
        tmp_path, NEITHER, "--until", "plan", **{CONSENT_VARIABLE: refusal}
    )
    assert status == 3
    assert report["verdict"] == "inconclusive"
    started = next(check for check in report["checks"] if check["id"] == "plan/starts-server")  # type: ignore[attr-defined]
    assert all(
        each in started["detail"] for each in ("docker run", "--unconfined", "stage service")
    )


@pytest.mark.process
def test_more_than_is_copied_is_inconclusive_and_run_nowhere(tmp_path: Path, weights: Path) -> None:
    mark = tmp_path / "mark"
    files = {
        "deploy.sh": f"#!/bin/sh\n: > {mark}\n{GOOD_SCRIPT}",
        **{f"f/{n}": "" for n in range(60)},
    }
    submission = read_submission(repository(tmp_path / "r", files))
    plan = facts.gather(submission, weights, limits=Limits(copied_files=50), consent=True)
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    assert plan.run.ended_by is EndedBy.COPY
    assert not mark.exists()
    assert not ledger.result("plan/starts-server").settled
    assert all(result.outcome is not Outcome.FAIL for result in ledger.results)
    assert "more than 50 files" in ledger.result("plan/starts-server").findings[0].seen


@pytest.mark.slow
def test_a_commit_of_very_many_files_is_run_like_any_other(tmp_path: Path, weights: Path) -> None:
    files = {"deploy.sh": GOOD_SCRIPT, **{f"f{n % 50}/{n}": "" for n in range(21_000)}}
    plan = facts.gather(
        read_submission(repository(tmp_path / "r", files)), weights, limits=Limits(wall_s=60)
    )
    assert (plan.run.ended_by, plan.observed.mode) == (EndedBy.SERVER, Mode.ISOLATED)


def test_a_copy_leaves_no_deep_folder_out_in_silence(tmp_path: Path) -> None:
    source = tmp_path / "s"
    source.joinpath(*("f" for _ in range(safely.MAX_DEPTH + 1))).mkdir(parents=True)
    copy = safely.Copy(most_files=10**6, most_bytes=10**9)
    with pytest.raises(safely.TooMuch, match="deep"):
        copy.measure(str(source))
    with pytest.raises(safely.TooMuch, match="deep"):
        copy.tree(str(source), str(tmp_path / "t"))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3"}')
    return folder


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="another user's file takes root")
def test_no_link_of_the_weights_is_followed(tmp_path: Path, weights: Path) -> None:
    """As root, weights that others may not read are copied; a link in them may lead anywhere or nowhere."""
    private = tmp_path / "private"
    private.write_text("x")
    private.chmod(0o600)
    (weights / "zz").symlink_to(private)
    (weights / "dangling").symlink_to("/nonexistent/a")
    (weights / "folder").symlink_to(tmp_path)
    os.mkfifo(weights / "fifo")
    (weights / "own.json").write_text("{}")
    (weights / "own.json").chmod(0o600)
    submission = read_submission(repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT}))
    plan = facts.gather(submission, weights, limits=Limits())
    assert (plan.run.ended_by, plan.observed.mode) == (EndedBy.SERVER, Mode.ISOLATED)
    assert private.stat().st_mode & 0o777 == 0o600


def starved(setting: box.Setting, mode: Mode) -> tuple[Job, Recording]:
    """The real sandbox with no time at all: it ends by TIME after its setup."""
    return REAL_RUN(replace(setting, limits=Limits(wall_s=0)), mode)


REAL_RUN = box.run


@pytest.mark.process
def test_a_trial_that_a_busy_machine_ends_leads_to_no_weaker_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Mode] = []

    def always_starved(setting: box.Setting, mode: Mode) -> tuple[Job, Recording]:
        tried.append(mode)
        return starved(setting, mode)

    monkeypatch.setattr(box, "run", always_starved)
    with pytest.raises(Blocked, match="isolated mode failed its trial: time"):
        box.chosen(consent=True)
    assert set(tried) == {Mode.ISOLATED}


@pytest.mark.process
def test_a_trial_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, weights: Path
) -> None:
    trials = iter((starved,))

    def starved_once(setting: box.Setting, mode: Mode) -> tuple[Job, Recording]:
        return next(trials, REAL_RUN)(setting, mode)

    monkeypatch.setattr(box, "run", starved_once)
    submission = read_submission(repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT}))
    plan = facts.gather(submission, weights, limits=Limits(), consent=True)
    assert next(trials, None) is None
    assert (plan.observed.mode, plan.observed.stricter) == (Mode.ISOLATED, "")
