"""The published schema of report.json: that of the records, and every real report keeps to it."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

from healthcheck.cli import main
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.report import machine
from healthcheck.system import json_text
from tests.support import reports
from tests.support.repositories import GOOD_SCRIPT, repository
from tests.support.template import ROOT

PUBLISHED = json.loads((ROOT / "docs/report.schema.json").read_text("utf-8"))
WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"


def strict() -> Draft202012Validator:
    """The published schema, in which no key goes without a description; readers ignore those that they do not know."""
    schema = copy.deepcopy(PUBLISHED)
    for definition in schema["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
    return Draft202012Validator(schema)


@pytest.mark.process
def test_the_published_schema_is_that_of_the_records() -> None:
    script = [sys.executable, "scripts/make_report_schema.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}run: python scripts/make_report_schema.py"


def test_it_is_a_schema_that_describes_each_key() -> None:
    Draft202012Validator.check_schema(PUBLISHED)
    for name, definition in PUBLISHED["$defs"].items():
        for key, shape in definition.get("properties", {}).items():
            assert shape["description"], f"{name}.{key}"


def written(tmp_path: Path, *words: str) -> dict:
    file = tmp_path / "report.json"
    main([*words, "--quiet", "--json", str(file)])
    return json.loads(file.read_bytes())


@pytest.mark.process
def test_reports_of_repositories_keep_to_it(tmp_path: Path) -> None:
    for name, script in (("good", GOOD_SCRIPT), ("bad", GOOD_SCRIPT.replace("8000", "8001"))):
        root = repository(tmp_path / name, {"deploy.sh": script})
        report = written(
            tmp_path, "verify", str(root), "--weights", str(WEIGHTS), "--until", "weights"
        )
        assert report["checks"]
        strict().validate(report)


@pytest.mark.process
def test_a_report_of_a_server_keeps_to_it(tmp_path: Path) -> None:
    with Simulator(Behaviour()) as server:
        out = str(tmp_path / "out")
        report = written(
            tmp_path, "probe", server.url, "--problems", "6", "--samples", "1", "--out", out
        )
    assert report["metrics"]
    strict().validate(report)


def test_every_kind_of_outcome_keeps_to_it() -> None:
    strict().validate(json.loads(machine.render(reports.report())))


@pytest.mark.parametrize("key", ["verdict", "checks", "headline"])
def test_a_report_without_a_key_does_not(key: str) -> None:
    report = json_text.load(machine.render(reports.report()))
    assert isinstance(report, dict)
    del report[key]
    with pytest.raises(ValidationError, match=key):
        strict().validate(report)
