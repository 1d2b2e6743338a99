"""A repair writes a name between double quotes only if a shell changes nothing in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Finding
from healthcheck.stages.plan.checks.no_downloads import no_downloads
from healthcheck.stages.plan.records import LaunchPlan
from tests.weights.folders import plan


def asking(name: str, *committed: str) -> LaunchPlan:
    """A launch whose server gets a tokenizer by its name on a hub."""
    launch, script = plan(), f"#!/bin/sh\nexec vllm serve \"$MODEL_PATH\" --tokenizer '{name}'\n"
    assert launch.server is not None
    server = replace(
        launch.server,
        argv=("/weights", "--tokenizer", name),
        command="vllm serve",
        hub_names=(f"--tokenizer {name}",),
    )
    return replace(
        launch, server=server, servers=(server,), script=script, committed=frozenset(committed)
    )


def found(launch: LaunchPlan) -> Finding:
    ledger = Ledger(Silent())
    ledger.judge([no_downloads], lambda: launch)
    return ledger.results[0].findings[0]


@pytest.mark.parametrize(
    ("name", "committed"),
    [
        ("org/Qwen", "models/$(touch pwned)/Qwen/tokenizer.json"),
        ("org/Q`touch pwned`", "models/Q`touch pwned`/tokenizer.json"),
        ("org/Q$(touch pwned)", "README.md"),
    ],
)
def test_a_shell_gets_no_name_that_it_runs(name: str, committed: str) -> None:
    finding = found(asking(name, committed))
    assert "touch" not in "".join(edit.new for edit in finding.edits)
    assert "touch" not in finding.fix.replace(name, "")


def test_a_plain_folder_is_named() -> None:
    finding = found(asking("org/Qwen", "models/my folder/Qwen/tokenizer.json"))
    assert any('"$HERE/models/my folder/Qwen"' in edit.new for edit in finding.edits)
