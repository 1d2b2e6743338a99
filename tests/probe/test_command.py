"""`npu-adapter probe` from its arguments to its exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator.server import Simulator
from tests.support.probes import behaviour, even


def report(folder: Path) -> dict[str, object]:
    return json.loads((folder / "report.json").read_text())


@pytest.mark.process
def test_a_probe_writes_what_it_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    with Simulator(behaviour()) as server:
        status = main(
            [
                "probe",
                server.url,
                "--problems",
                "30",
                "--out",
                str(folder),
                "--json",
                str(tmp_path / "r.json"),
            ]
        )
    out = capsys.readouterr().out
    assert status == 0
    assert {path.name for path in folder.iterdir()} >= {
        "configs",
        "logs",
        "results",
        "report.json",
    }
    assert json.loads((tmp_path / "r.json").read_text()) == report(folder)
    written = report(folder)
    assert written["verdict"] == "ready"
    assert {check["id"] for check in written["checks"]} == {
        "probe/completes", "probe/degenerate", "probe/truncated", "probe/same-prompt", "probe/crowd", "probe/steady", "probe/accuracy",
    }  # fmt: skip
    for name in ("accuracy (5 runs average)", "avg@5", "pass@5", "cons@5"):
        assert name in out
        assert set(written["metrics"][name]) >= {
            "value",
            "low",
            "high",
            "level",
            "method",
            "question",
        }


@pytest.mark.process
@pytest.mark.parametrize(
    ("accuracy", "status", "verdict"), [(0.9, 0, "ready"), (0.1, 1, "not-ready")]
)
def test_the_reference_can_be_a_run(
    tmp_path: Path, accuracy: float, status: int, verdict: str
) -> None:
    with Simulator(behaviour(accuracy=even(0.9))) as server:
        assert (
            main(["probe", server.url, "--problems", "60", "--out", str(tmp_path / "healthy")]) == 0
        )
    with Simulator(behaviour(accuracy=even(accuracy), seed=5)) as server:
        options = ["--problems", "60", "--reference", str(tmp_path / "healthy"), "--margin", "30"]
        options += ["--out", str(tmp_path / "run")]
        assert main(["probe", server.url, *options]) == status
    written = report(tmp_path / "run")
    assert written["verdict"] == verdict
    assert written["metrics"]["verdict"]["samples"] <= 60


@pytest.mark.process
def test_the_verdict_needs_tens_of_samples(tmp_path: Path) -> None:
    counts = {}
    for name, accuracy in (("dead", 0.0), ("healthy", 0.8)):
        with Simulator(behaviour(accuracy=even(accuracy))) as server:
            main(
                [
                    "probe",
                    server.url,
                    "--reference",
                    "0.8",
                    "--margin",
                    "30",
                    "--out",
                    str(tmp_path / name),
                ]
            )
        decided = report(tmp_path / name)["metrics"]["verdict"]
        counts[name] = decided["samples"]
        assert decided["decision"] == {"dead": "degraded", "healthy": "healthy"}[name]
    assert counts["dead"] <= 6
    assert counts["healthy"] <= 60


@pytest.mark.process
def test_the_gate_can_be_set(tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(0.9))) as server:
        options = ["--reference", "0.9", "--gate", ".50,.10,.05", "--out", str(tmp_path / "run")]
        assert main(["probe", server.url, *options]) == 0
    decided = report(tmp_path / "run")["metrics"]["verdict"]
    assert [decided[name] for name in ("bad", "good", "alpha", "beta")] == [0.4, 0.8, 0.05, 0.05]
    assert decided["decision"] == "healthy"


@pytest.mark.process
def test_a_data_set_is_measured(tmp_path: Path) -> None:
    rows = [
        {"question": f"What is {n} plus 1?", "answer": f"one more\n#### {n + 1}"} for n in range(20)
    ]
    path = tmp_path / "plus.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    answers = {row["question"]: str(n + 1) for n, row in enumerate(rows)}
    with Simulator(
        behaviour(accuracy=even(1.0)).__class__(answers=answers, accuracy=even(1.0))
    ) as server:
        assert (
            main(
                [
                    "probe",
                    server.url,
                    "--dataset",
                    str(path),
                    "--samples",
                    "2",
                    "--out",
                    str(tmp_path / "run"),
                ]
            )
            == 0
        )
        assert main(["probe", server.url, "--resume", str(tmp_path / "run")]) == 0
        rows[3]["answer"] = "#### 99"
        path.write_text("\n".join(map(json.dumps, rows)))
        assert main(["probe", server.url, "--resume", str(tmp_path / "run")]) == 2
    written = report(tmp_path / "run")
    assert written["metrics"]["avg@2"]["value"] == 1.0
    assert written["metrics"]["samples"] == 40


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["http://127.0.0.1:9"], 3),
        (["http://127.0.0.1:9", "--samples", "0"], 2),
        (["http://127.0.0.1:9", "--dataset", "/nonexistent"], 2),
        (["http://127.0.0.1:9", "--reference", "1.5"], 2),
        (["http://127.0.0.1:9", "--reference", "nowhere"], 2),
        (["http://127.0.0.1:9", "--threshold", "7"], 2),
        (["http://127.0.0.1:9", "--gate", ".05,.30,.01"], 2),
        (["http://127.0.0.1:9", "--gate", ".30"], 2),
        (["http://127.0.0.1:9", "--margin", "5"], 2),
        (["http://127.0.0.1:9", "--reference", ".8", "--margin", ".05"], 2),
        (["http://127.0.0.1:9", "--reference", ".8", "--margin", "5", "--gate", ".30,.05,.01"], 2),
        (["http://127.0.0.1:9", "--resume", "nowhere"], 2),
        (["no-url"], 2),
        (["http://127.0.0.1:9", "http://127.0.0.1:8"], 2),
        (["http://127.0.0.1:9", "--json", "/proc/nowhere/x.json"], 2),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said(
    tmp_path: Path, arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    out = [] if "--resume" in arguments else ["--out", str(tmp_path / "run")]
    try:
        seen = main(["probe", *arguments, *out])
    except SystemExit as end:
        seen = end.code
    assert seen == status
    printed = capsys.readouterr()
    assert "npu-adapter" in printed.err or "no server answers" in printed.out
    assert not (tmp_path / "run" / "configs").exists()


@pytest.mark.process
def test_the_clients_misreading_is_said_out_loud(tmp_path: Path) -> None:
    path = tmp_path / "money.jsonl"
    path.write_text(
        "".join(
            json.dumps({"question": f"House {n}?", "answer": f"#### {70 + n}000"}) + "\n"
            for n in range(10)
        )
    )
    answers = {f"House {n}?": f"${70 + n},000" for n in range(10)}
    with Simulator(behaviour().__class__(answers=answers, accuracy=even(1.0))) as server:
        assert (
            main(
                [
                    "probe",
                    server.url,
                    "--dataset",
                    str(path),
                    "--samples",
                    "1",
                    "--out",
                    str(tmp_path / "run"),
                ]
            )
            == 0
        )
    written = report(tmp_path / "run")
    assert written["metrics"]["avg@1"]["value"] == 1.0
    assert written["metrics"]["the service's client will print"]["accuracy"] == 0.0
    accuracy = next(check for check in written["checks"] if check["id"] == "probe/accuracy")
    assert accuracy["outcome"] == "warn"
    assert "'000'" in accuracy["detail"]


@pytest.mark.process
@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/chat/completions"])
def test_the_address_of_a_client_is_understood(tmp_path: Path, path: str) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        options = ["--problems", "6", "--samples", "1", "--out", str(tmp_path / "run"), "--quiet"]
        assert main(["probe", f"{server.url}{path}", *options]) == 0
