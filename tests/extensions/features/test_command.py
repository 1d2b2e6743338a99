"""`npu-adapter features`: what it reads, prints and writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.extensions.features import facts
from healthcheck.extensions.features.schema import misfit_of_text
from healthcheck.extensions.simulator import Behaviour, Simulator
from tests.extensions.features.fake_server import Fake, serving
from tests.support.commands import started

TOOL = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}


def line(**more: Any) -> str:
    return json.dumps(
        {"messages": [{"role": "user", "content": "Use the tool."}], "tools": [TOOL], **more}
    )


@pytest.mark.process
def test_a_report_has_the_rates_with_intervals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Fake()) as url:
        status = main(
            [
                "features",
                f"{url}/v1",
                "--out",
                str(tmp_path / "out"),
                "--json",
                str(tmp_path / "r.json"),
            ]
        )
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert (status, report["verdict"]) == (0, "ready")
    assert report["metrics"]["schema accuracy"] == pytest.approx(
        {"value": 1.0, "low": 0.782, "high": 1.0, "question": "requests like these"}, abs=0.001
    )
    assert report["metrics"]["other endpoints"]["value"].startswith(
        "/health 200, /metrics 404, /tokenize 404, "
    )
    assert {check["stage"] for check in report["checks"]} == {"features"}
    assert "features of http://" in report["asked"]
    assert "other endpoints" not in report["provenance"], "they are said once"
    assert (tmp_path / "out" / "report.html").is_file()
    printed = " ".join(capsys.readouterr().out.split())
    assert "other endpoints /health 200, " in printed
    assert (
        "Verdict: features: what the server offers holds (does not affect the verdict)" in printed
    )
    assert "ready" not in printed


@pytest.mark.process
def test_a_fault_is_said_in_chinese(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_LANG", "zh")
    monkeypatch.setenv("COLUMNS", "300")
    with serving(Fake("markup")) as url:
        assert main(["features", url]) == 1
    assert "features/tool-calls" in capsys.readouterr().out


@pytest.mark.process
def test_requests_of_the_vendor_verifier_are_read_as_they_are(tmp_path: Path) -> None:
    """Bodies, `_input` as a role, results with the reference's finish_reason, streams; the model is the server's."""
    file = tmp_path / "samples.jsonl"
    inputs = [
        {"role": "_input", "content": "Be short."},
        {"role": "user", "content": "Use the tool."},
    ]
    request = json.loads(line(messages=inputs, model="kimi-k2", stream=True))
    result = json.dumps(
        {"data_index": 1, "request": request, "finish_reason": "stop", "tool_calls_valid": None}
    )
    file.write_text(f"{line()}\n\n{result}\n{line(temperature=0.6)}\n", encoding="utf-8")
    fake = Fake()
    with serving(fake) as url:
        status = main(
            [
                "features",
                url,
                "--requests",
                str(file),
                "--json",
                str(tmp_path / "r.json"),
                "--quiet",
            ]
        )
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert status == 1, "the tool of the file is get_time, and the fake calls get_weather"
    rate = next(check for check in report["checks"] if check["id"] == "features/tool-rate")
    assert "'get_weather' is not among the tools" in rate["detail"]
    assert report["metrics"]["schema accuracy"]["value"] == 0
    assert report["metrics"]["trigger agreement"]["value"] == 0, (
        "the reference stopped where the server called"
    )
    (sent,) = (body for body in fake.bodies if body["messages"][0]["content"] == "Be short.")
    assert (sent["messages"][0]["role"], sent["model"], sent["stream"]) == ("system", "fake", True)


@pytest.mark.process
def test_a_run_is_compared_with_an_earlier_one(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"

    def rate(fault: str, place: Path, *words: str) -> tuple[int, str, str]:
        with serving(Fake(*filter(None, [fault]))) as url:
            status = main(["features", url, "--json", str(place), "--quiet", *words])
        checks = json.loads(place.read_text("utf-8"))["checks"] if place.is_file() else []
        found = next((check for check in checks if check["id"] == "features/tool-rate"), {})
        return status, found.get("outcome", ""), found.get("detail", "")

    assert rate("", good)[:2] == (0, "pass")
    status, outcome, detail = rate("triggers-inverted", bad, "--reference", str(good))
    assert (status, outcome) == (0, "warn")
    assert (
        "of 20 requests, 20 right in the reference alone, 0 here alone (one-sided p 9.5e-07)"
        in detail
    )
    _, outcome, detail = rate("", tmp_path / "again.json", "--reference", str(good))
    assert (outcome, "0 right in the reference alone, 0 here alone (one-sided p 1)" in detail) == (
        "pass",
        True,
    )
    assert rate("", tmp_path / "other.json", "--reference", str(good), "--n", "3")[0] == 2
    short = json.loads(good.read_text("utf-8"))
    short["metrics"]["right tool calls"]["right"].pop()
    (tmp_path / "short.json").write_text(json.dumps(short), "utf-8")
    assert rate("", tmp_path / "other.json", "--reference", str(tmp_path / "short.json"))[0] == 2
    (tmp_path / "no.json").write_text("{", "utf-8")
    assert rate("", tmp_path / "other.json", "--reference", str(tmp_path / "no.json"))[0] == 2


@pytest.mark.process
def test_keywords_that_are_not_judged_are_named(tmp_path: Path) -> None:
    parameters = {
        "properties": {
            "city": {"$ref": "#/$defs/city"},
            "days": {"items": {"anyOf": [{}], "title": "d"}},
        }
    }
    tool = {
        "type": "function",
        "function": {"name": "get_weather", "parameters": {"type": "object", **parameters}},
    }
    (tmp_path / "samples.jsonl").write_text(line(tools=[tool]), encoding="utf-8")
    with serving(Fake()) as url:
        main(
            [
                "features",
                url,
                "--requests",
                str(tmp_path / "samples.jsonl"),
                "--json",
                str(tmp_path / "r.json"),
            ]
        )
    assert "not judged in the parameters of tools: $ref, anyOf" in (tmp_path / "r.json").read_text(
        "utf-8"
    )


def test_a_count_takes_the_first_ones_or_begins_again(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_text(f"{line(seed=1)}\n{line(seed=2)}\n", encoding="utf-8")
    for count, seeds in ((None, [1, 2]), (1, [1]), (3, [1, 2, 1])):
        assert [trial.body["seed"] for trial in facts.read_trials(file, count)] == seeds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", ":1: not JSON"),
        ("5", ":1: not a JSON object but '5'"),
        (f"{line()}\n{{}}", "line 2 is not a request: no messages"),
        ('{"messages": {}}', "no messages"),
        ('{"request": 5}', "no messages"),
    ],
)
def test_a_line_that_is_no_request_is_named(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=words):
        facts.read_trials(tmp_path / "samples.jsonl", None)


@pytest.mark.process
def test_wrong_usage_and_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(Fake()) as url:
        assert main(["features", url, "--model", "other"]) == 2
        assert "no model 'other'; it lists 'fake'" in capsys.readouterr().err
    assert main(["features", url, "--quiet"]) == 3
    assert "no server answers at http" in capsys.readouterr().out
    assert main(["features", url, "--requests", str(tmp_path / "none.jsonl")]) == 2


@pytest.mark.smoke
def test_a_real_process_does_what_it_is_for(tmp_path: Path) -> None:
    with serving(Fake()) as url:
        ended = started("features", url, "--n", "2", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1}', ""),
        ("so", "not JSON"),
        ("{}", "at $, \"['a']\" are missing"),
        ('{"a": true}', "'True' at $.a is not of type"),
        ('{"a": 1.5}', "'1.5' at $.a is not of type"),
        ('{"a": 1.0}', ""),
        ('{"a": 1, "z": 1}', "at $, '[]' are missing, and \"['z']\" unknown"),
        ('{"a": 1, "b": ["x", 2]}', "'2' at $.b.[] is not of type"),
        ('{"a": 1, "c": null}', ""),
        ('{"a": 1, "c": 0.5}', ""),
        ('{"a": 1, "c": "x"}', "'x' at $.c is not of type"),
        ('{"a": 1, "d": 3}', "'3' at $.d is not one of"),
        ('{"a": 1, "e": {}}', ""),
    ],
)
def test_what_fits_a_schema(text: str, words: str) -> None:
    schema: Any = {
        "type": "object",
        "required": ["a"],
        "additionalProperties": False,
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "array", "items": {"type": "string"}},
            "c": {"type": ["null", "number"]},
            "d": {"enum": [1, 2]},
            "e": {"type": "any"},
        },
    }
    found = misfit_of_text(text, schema)
    assert found.startswith(words) if words else found == ""


@pytest.mark.process
def test_a_simulated_endpoint_is_named_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Simulator(Behaviour()) as simulator:
        main(["features", simulator.url, "--json", str(tmp_path / "r.json")])
    assert "Verdict: SIMULATED endpoint, no model was measured: features: " in " ".join(
        capsys.readouterr().out.split()
    )
    assert (
        json.loads((tmp_path / "r.json").read_text("utf-8"))["provenance"]["server"]
        == "npu-adapter-simulator"
    )
