"""What runs, as a report has it: the recorded server without its keys, and versions with "unknown" where unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.machine import versions
from healthcheck.verify import ran
from tests.support.systems import recorded_machine
from tests.weights.folders import plan


def test_the_server_is_shown_as_it_was_recorded_without_keys() -> None:
    recorded = plan().server
    assert recorded is not None
    recorded = replace(
        recorded,
        argv=("/weights", "--api-key", "s3cret", "--port", "8000"),
        env={
            "VLLM_USE_V1": "1",
            "HF_TOKEN": "hf_x",
            "HOME": "/root",
            "ASCEND_RT_VISIBLE_DEVICES": "0,1",
        },
    )
    assert ran.server(recorded) == {
        "engine": "vllm",
        "arguments": ["/weights", "--api-key", "removed", "--port", "8000"],
        "started_by": "deploy.sh:2",
        "environment": {
            "ASCEND_RT_VISIBLE_DEVICES": "0,1",
            "HF_TOKEN": "removed",
            "VLLM_USE_V1": "1",
        },
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a3-16-dies", {"vllm_ascend": "0.23.0", "torch_npu": "2.10.0.post4", "cann": "9.1.0", "devices": "16 × Ascend910"}),
        ("card-held-by-another-container", {"vllm": "0.18.0+empty", "transformers": "4.57.6", "devices": "unknown"}),
        ("no-npu", {"driver": "unknown", "devices": "unknown"}),
    ],
)  # fmt: skip
def test_versions_and_devices_of_a_recorded_machine(name: str, expected: dict) -> None:
    found = versions.versions(recorded_machine(name))
    assert {key: found[key] for key in expected} == expected
    assert set(found) == {*versions.PACKAGES, "python", "cann", "driver", "devices"}
    assert all(found.values())
