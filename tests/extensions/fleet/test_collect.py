"""One run is made of what `fleet verify` left on machines of another scheduler."""

from __future__ import annotations

import json

import pytest

from healthcheck.cli import main
from tests.extensions.fleet.conftest import Place
from tests.support.repositories import git


@pytest.mark.process
def test_what_pods_leave_becomes_one_run(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    rows = []
    for name, files in (("good", {}), ("bad", {"deploy.sh": "exit 1\r\n"}), ("unrun", {})):
        place.adapter(name, files)
        commit = git(place.folder / name, "rev-parse", "HEAD").strip()
        rows.append({"name": name, "repository": f"file://{place.folder / name}@{commit}", "until": "repo"})
    reports = place.folder / "reports"
    for pod, row in enumerate(rows[:2]):
        path = place.jobs(row)
        assert main(["fleet", "verify", str(path), "--out", str(reports / f"pod-{pod}"), "--quiet"]) == pod
    path = place.jobs(*rows)
    assert main(["fleet", "collect", str(path), "--from", str(reports), "--out", str(place.out)]) == 1
    found = json.loads((place.out / "fleet.json").read_text("utf-8"))["jobs"]
    assert {job["name"]: job["verdict"] for job in found} == {"good": "ready", "bad": "not-ready", "unrun": None}
    assert (place.out / "jobs/bad/attempt-1/report/report.html").is_file()
    assert "3 jobs: 1 ready, 1 not ready, 1 without a result" in capsys.readouterr().out
    assert (
        main(
            ["fleet", "collect", str(path), "--from", str(place.folder / "good"), "--out", str(place.folder / "x")]
        )
        == 2
    )
