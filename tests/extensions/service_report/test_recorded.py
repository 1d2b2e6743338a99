"""Reports that AISBench wrote, read and put right by the extension `service_report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.cli import main
from tests.support.recordings import recording

GOLDEN_TRUTH = {
    "v3.1-20260319_bimodal_n5": (50.0, 50.0, 50.0),
    "v3.1.20260630_bimodal_n5": (50.0, 50.0, 50.0),
    "v3.1.20260630_fail_then_resumed_n5": (100.0, 100.0, 100.0),
    "v3.1.20260630_halfright_120x5": (50.0, 50.0, 50.0),
    "v3.1.20260630_truncated_stream_n5": (87.5, 87.5, 87.5),
}


@pytest.mark.parametrize("run", GOLDEN_TRUTH)
def test_golden_reports_are_read_and_put_right(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["read", str(recording(f"aisbench-golden/{run}")), "--json", str(tmp_path / "r.json")])
        == 0
    )
    (task,) = json.loads((tmp_path / "r.json").read_text())["tasks"]
    true = {entry["name"]: 100 * entry["value"] for entry in task["true"]}
    assert tuple(true[f"{name}@5"] for name in ("avg", "pass", "cons")) == pytest.approx(
        GOLDEN_TRUTH[run]
    )
    assert task["printed"] == task["recomputed_as_aisbench"]
    assert task["problems_implied_by_printed_figures"] == 0
    assert "AISBench printed" in capsys.readouterr().out


def test_the_golden_run_of_failures_only_is_inconclusive(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["read", str(recording("aisbench-golden/v3.1.20260630_failall"))]) == 3
    assert "every request failed" in " ".join(capsys.readouterr().out.split())
