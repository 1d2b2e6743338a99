from pathlib import Path

import pytest
from own_check import HEADER, licence_header

from healthcheck.api import Outcome, read_submission

LAUNCH = 'exec vllm serve "$MODEL_PATH" --port 8000\n'


@pytest.mark.parametrize(
    ("script", "outcome"),
    [(f"#!/bin/sh\n{HEADER}\n{LAUNCH}", Outcome.PASS), (f"#!/bin/sh\n{LAUNCH}", Outcome.FAIL)],
)
def test_the_header_is_asked_for(tmp_path: Path, script: str, outcome: Outcome) -> None:
    (tmp_path / "deploy.sh").write_text(script)
    assert licence_header.judge(read_submission(tmp_path)).outcome is outcome
