"""Fixtures of what commands read: a log, and two runs of the probe."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck import cli
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.extensions.simulator.bank import known

TIERS = ("easy", "medium", "hard")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "deploy.log"
    path.write_text("ModuleNotFoundError: No module named 'torch_npu'\n")
    return path


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs, `right` and `wrong`: one model answers everything, the other nothing."""
    folder = tmp_path_factory.mktemp("runs")
    bank = known(seed=0, count=400, families=("arithmetic",))
    for name, accuracy in (("right", 1.0), ("wrong", 0.0)):
        behaviour = Behaviour(
            answers={question: answer for question, (answer, _) in bank.items()},
            labels={question: tier for question, (_, tier) in bank.items()},
            accuracy=dict.fromkeys(TIERS, accuracy),
        )
        with Simulator(behaviour) as simulator:
            cli.main(
                [
                    "probe",
                    simulator.url,
                    "--problems",
                    "30",
                    "--samples",
                    "2",
                    "--quiet",
                    "--out",
                    str(folder / name),
                ]
            )
    return folder
