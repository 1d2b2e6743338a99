"""`verify --features` asks for features after the endpoint, and no verdict depends on them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator import Behaviour, Simulator

pytestmark = pytest.mark.process


def test_what_does_not_hold_warns_and_fails_no_submission(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "r.json"
    with Simulator(Behaviour()) as server:
        words = [
            "verify",
            "--url",
            server.url,
            "--features",
            "--until",
            "endpoint",
            "--json",
            str(place),
        ]
        status = main([*words, "--skip", "features/tool-rate"])
        said = capsys.readouterr().out
        strict = main([*words, "--strict", "--quiet"])
        alone = main(["features", server.url, "--quiet"])
        printed = capsys.readouterr().out
    report = json.loads(place.read_text("utf-8"))
    found = {check["id"]: check for check in report["checks"] if check["stage"] == "features"}
    assert (status, strict, report["verdict"]) == (0, 0, "ready"), said
    assert found["features/parameters"]["outcome"] == "warn", (
        "the simulator has one choice and no seed"
    )
    assert said.index("endpoint ") < said.index("features ") < said.index("Verdict: SIMULATED")
    assert "skipped on request" in " ".join(said.split())
    assert alone == 1, "alone, what does not hold fails the command"
    assert "do not hold: features/" in printed
    assert "(does not affect the verdict)" in printed


def test_a_server_is_needed() -> None:
    assert main(["verify", "--url", "http://127.0.0.1:9", "--features", "--until", "plan"]) == 2


def test_features_that_get_no_answer_leave_the_verdict_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even the kit's own error in a feature is no reason to doubt a submission."""
    from healthcheck.extensions.features import facts

    def broken(*_: object) -> None:
        raise RuntimeError("a mistake of the kit")

    monkeypatch.setattr(facts, "gather", broken)
    place = tmp_path / "r.json"
    with Simulator(Behaviour()) as server:
        words = [
            "verify",
            "--url",
            server.url,
            "--features",
            "--until",
            "endpoint",
            "--json",
            str(place),
            "--quiet",
        ]
        assert main(words) == 0
    found = [
        check
        for check in json.loads(place.read_text("utf-8"))["checks"]
        if check["stage"] == "features"
    ]
    assert {check["outcome"] for check in found} == {"warn"}
    assert all("a mistake of the kit" in check["detail"] for check in found)
