"""One attempt at a job on this machine."""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from healthcheck.core.extensions import known_stages
from healthcheck.extensions.fleet import launch


def test_the_known_stages_are_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_up = mock.Mock(side_effect=known_stages)
    monkeypatch.setattr(launch, "known_stages", look_up)
    monkeypatch.setattr(launch.subprocess, "Popen", mock.Mock())
    order = launch.Order(
        job="a", digest="b", number=1, packed=None, words=(), folder="/", limit_s=1
    )
    child = launch._Child(order, ("runner",), tmp_path)
    for stage in ("repo", "plan", "unknown"):
        with (tmp_path / launch.LOG).open("a") as log:
            log.write(f"  0.1 s  {stage}: a title\n")
        assert child.stage() == (stage if stage != "unknown" else "plan")
    assert look_up.call_count == 1
