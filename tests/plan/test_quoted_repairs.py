"""Names of files are quoted in the commands of repairs."""

from __future__ import annotations

from dataclasses import replace

from healthcheck.stages.plan.need_repairs import need_repair
from healthcheck.stages.plan.records import RecordedCommand
from healthcheck.stages.plan.script.stderr import Complaint, Need
from healthcheck.stages.plan.script.weight_path import misnamed
from tests.weights.folders import plan


def test_a_missing_file_to_source_is_quoted() -> None:
    path = "/opt/my $(id)/set_env.sh"
    complaint = Complaint(kind=Need.FILE, name=path, where="deploy.sh:2", text=f"{path}: not found")
    repair = need_repair(replace(plan(), script=f"#!/bin/sh\n. '{path}'\n"), complaint)
    assert f"if [ -r '{path}' ]; then . '{path}'; fi" in str(repair)


def test_a_configuration_file_is_quoted() -> None:
    command = RecordedCommand(
        program="vllm", argv=(), cwd="/", texts={"a; id.yaml": "model: $MODEL_PATH\n"}
    )
    cause = misnamed(replace(plan(), commands=(command,)), "$MODEL_PATH")
    assert cause is not None
    assert str(cause.fix).endswith("--config 'a; id.yaml'")
