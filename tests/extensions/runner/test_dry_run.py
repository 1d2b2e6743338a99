"""The dry run's stub of npu-smi answers what the runner asks the real one, in the same form."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.ascend import hardware
from healthcheck.extensions.runner import npu_smi_queries
from healthcheck.machine import npu_smi
from tests.plan.test_dry_run_machine import KINDS, answers_of_npu_smi
from tests.support.daily import every


@pytest.mark.process
@pytest.mark.parametrize("name", every(3, KINDS))
def test_the_narrower_queries_show_the_named_devices(
    name: str, tmp_path: Path, weights: Path
) -> None:
    kind = hardware.find(name)[0]
    devices = hardware.Devices(kind=kind, count=3)
    answers = answers_of_npu_smi(devices, tmp_path / "repo", weights)
    chips = npu_smi.parse(answers["info"]).chips
    mapped = npu_smi_queries.mapping(answers["info -m"])
    assert [(each.npu, each.chip) for each in mapped] == [
        (chip.npu, number % kind.per_card) for number, chip in enumerate(chips)
    ]
    health = npu_smi_queries.fields(answers["info -t health -i 0"]).chips
    assert [fields["Health"] for fields in health.values()] == ["OK"] * min(3, kind.per_card)
    memory = npu_smi_queries.fields(answers["info -t memory -i 0"]).chips[0]
    assert str(kind.memory_bytes // hardware.MIB) in memory.values()
    assert "Chip Name" in answers["info -t board -i 0"]
