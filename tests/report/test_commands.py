"""What a command leaves behind: the folder, and the files that were asked for."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from healthcheck import cli
from healthcheck.extensions.simulator import Behaviour, Simulator

pytestmark = pytest.mark.process


@pytest.mark.parametrize("command", ["probe", "verify"])
def test_a_measured_report_has_its_page_and_says_that_it_was_simulated(
    command: str, tmp_path: Path, capsys
) -> None:
    out, junit = tmp_path / "out", tmp_path / "junit.xml"
    with Simulator(Behaviour(model="simulated")) as simulator:
        url = (
            [simulator.url] if command == "probe" else ["--url", simulator.url, "--until", "probe"]
        )
        cli.main(
            [
                command,
                *url,
                "--problems",
                "6",
                "--samples",
                "2",
                "--out",
                str(out),
                "--junit",
                str(junit),
            ]
        )
    html = (out / "report.html").read_text(encoding="utf-8")
    report = json.loads((out / "report.json").read_bytes())
    assert "<title>SIMULATED endpoint" in html
    assert "SIMULATED endpoint" in (out / "summary.md").read_text(encoding="utf-8")
    cases = [case.get("name") for case in ET.parse(junit).iter("testcase")]
    assert sorted(cases) == sorted(check["id"] for check in report["checks"])
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert len(data["samples"]) == 12
    assert report["headline"] in " ".join(capsys.readouterr().out.split())
