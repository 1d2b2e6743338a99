"""No report has the sandbox's name for the submission's folder: an author cannot open it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.cli import main
from tests.support.repositories import repository

pytestmark = pytest.mark.process


def test_places_and_commands_are_relative_to_the_repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = (
        '#!/bin/sh\ncd "$(dirname "$0")"\nexport LD_PRELOAD="$PWD/lib.so" PYTHONPATH="$PWD"\n'
        'exec vllm serve "$MODEL_PATH" --config "$PWD/vllm.yaml" --chat-template "$PWD/no.jinja"\n'
    )
    config = "host: 0.0.0.0\nport: 9000\n"
    root = repository(tmp_path / "r", {"deploy.sh": script, "vllm.yaml": config})
    main(["verify", str(root), "--until", "plan", "--json", "-"])
    said = capsys.readouterr().out
    report = json.loads(said)
    assert "/srv/submission" not in said
    port = next(check for check in report["checks"] if check["id"] == "plan/port")
    assert "(vllm.yaml:2)" in port["detail"], port
    assert "no.jinja" in said
