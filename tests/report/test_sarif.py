"""SARIF as code scanning takes it: the finding at its line, every property one that SARIF 2.1.0 has."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sarif_pydantic import Sarif

from healthcheck.cli import main
from healthcheck.report import sarif
from tests.report.test_formats import failing
from tests.support import reports
from tests.support.repositories import GOOD_SCRIPT, repository


def read_back(text: bytes) -> dict:
    """The log, once the models of SARIF 2.1.0 have read it and written the same."""
    log = json.loads(text)
    model = Sarif.model_validate(log)
    assert json.loads(model.model_dump_json(by_alias=True, exclude_none=True, exclude_unset=True)) == log
    return log


@pytest.mark.process
def test_the_wrong_port_is_on_its_line(tmp_path: Path) -> None:
    script = GOOD_SCRIPT.replace("8000", "8001")
    root = repository(tmp_path / "r", {"deploy.sh": script})
    weights = tmp_path / "weights"
    weights.mkdir()
    log = tmp_path / "report.sarif"
    command = ["verify", str(root), "--weights", str(weights), "--until", "plan", "--quiet", "--sarif", str(log)]
    assert main(command) == 1
    (run,) = read_back(log.read_bytes())["runs"]
    (found,) = (result for result in run["results"] if result["ruleId"] == "plan/port")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "deploy.sh"
    assert "--port 8001" in script.splitlines()[place["region"]["startLine"] - 1]
    assert found["level"] == "error"
    assert "8001" in found["message"]["text"]
    rule = run["tool"]["driver"]["rules"][found["ruleIndex"]]
    assert rule["id"] == "plan/port"
    assert "The service's rule: " in rule["help"]["text"]
    assert run["invocations"][0]["exitCode"] == 1


def test_what_could_not_be_settled_is_no_finding() -> None:
    (run,) = read_back(sarif.render(reports.report()))["runs"]
    assert {result["ruleId"] for result in run["results"]}.isdisjoint({"service/port-free", "endpoint/stream"})
    said = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert [text.partition(":")[0] for text in said] == ["service/port-free", "endpoint/stream", "probe/accuracy"]


@settings(max_examples=20)
@given(st.text())
def test_it_is_sarif_whatever_a_stranger_wrote(seen: str) -> None:
    (run,) = read_back(sarif.render(failing(seen)))["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}


@pytest.mark.parametrize(
    "where", ["/etc/passwd:3", "../x.sh:3", "vllm serve --port 1:2", "deploy.sh:0", "config.json"]
)
def test_a_place_that_is_no_line_of_the_repository_is_deploy_sh(where: str) -> None:
    report = failing("x")
    (result,) = report.results
    (finding,) = result.findings
    moved = replace(report, results=(replace(result, findings=(replace(finding, where=where),)),))
    place = read_back(sarif.render(moved))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("deploy.sh", 1)
