"""The dry run shows the packages of the chosen stack, and the NPUs that were named or are in the machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.ascend import hardware, stacks
from healthcheck.machine import npu_smi
from healthcheck.machine.devices import devices_here
from healthcheck.stages.plan.records import LaunchPlan
from tests.plan.corpus import case, sh
from tests.support.daily import every
from tests.support.plans import judged, planned, write
from tests.support.systems import recorded_machine
from tests.weights.folders import QWEN3, model

BY_RELEASE = sh(
    'case "$(vllm --version)" in *0.18*) P={};; *) P={};; esac\nexec vllm serve "$MODEL_PATH" --port $P'
)
KINDS = ("910B3", "910B4", "910C", "310P3-Duo", "310P3", "310", "310B", "910A", "950DT")
IN_PYTHON = """
import importlib.metadata, {modules}
for module in ({modules},):
    print(module.__name__, module.__version__, importlib.metadata.version(module.__name__))
"""


def dry_run(
    script: str,
    root: Path,
    weights: Path,
    *,
    stack: str | None = None,
    devices: hardware.Devices | None = None,
) -> LaunchPlan:
    repository = write(case("x", sh(f'{script}\nexec vllm serve "$MODEL_PATH"')), root)
    return planned(repository, weights, stack=stack, devices=devices)


@pytest.mark.process
@pytest.mark.parametrize(
    ("with_018", "otherwise", "stack", "outcome"),
    [
        (9001, 8000, "0.18.0", "fail"),
        (8000, 9001, "0.18.0", "pass"),
        (9001, 8000, None, "pass"),
        (8000, 9001, None, "fail"),
    ],
)
def test_a_script_that_asks_for_the_release_is_judged_by_that_of_the_stack(
    with_018: int, otherwise: int, stack: str | None, outcome: str, tmp_path: Path, weights: Path
) -> None:
    root = write(case("x", BY_RELEASE.format(with_018, otherwise)), tmp_path / "repo")
    _, results = judged(root, weights, stack=stack)
    assert results["plan/port"].outcome.value == outcome


@pytest.mark.process
@pytest.mark.parametrize(("stack", "outcome"), [("0.23.0", "pass"), ("0.30.0rc2", "warn")])
def test_a_variable_is_judged_by_what_the_release_reads(
    stack: str, outcome: str, tmp_path: Path, weights: Path
) -> None:
    deploy = sh(
        'export VLLM_ASCEND_ENABLE_NZ=0\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
    )
    _, results = judged(write(case("x", deploy), tmp_path / "repo"), weights, stack=stack)
    result = results["plan/ascend-environment"]
    assert result.outcome.value == outcome
    if outcome == "warn":
        assert "0.26.0rc1 does" in result.findings[0].seen
        assert "weight_nz_mode" in result.findings[0].fix


@pytest.mark.process
@pytest.mark.parametrize("stack", ["0.23.0", "0.18.0", "0.13.0"])
def test_every_way_to_ask_for_a_version_gives_that_of_the_row(
    stack: str, tmp_path: Path, weights: Path
) -> None:
    modules = ("vllm", "vllm_ascend", "torch", "torch_npu", "transformers")
    code = IN_PYTHON.format(modules=", ".join(modules))
    script = f"vllm --version\npip show {' '.join(modules)}\npip list\npip freeze\npython3 - <<'END'{code}END"
    said = dry_run(script, tmp_path / "repo", weights, stack=stack).run.stdout
    row = stacks.row(stack)
    exact = {
        "vllm": row.vllm[0],
        "vllm-ascend": stack,
        "torch": row.torch,
        "torch-npu": row.torch_npu,
    }
    exact["transformers"] = {"0.23.0": "5.5.4", "0.18.0": "4.57.4", "0.13.0": "4.57.4"}[stack]
    built = exact | {"vllm": f"{row.vllm[0]}+empty"}
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert lines[0] == built["vllm"]
    for module in modules:
        name = module.replace("_", "-")
        assert lines[lines.index(f"Name: {module}") + 1] == f"Version: {built[name]}"
        assert f"{name} {built[name]}" in lines
        assert f"{name}=={built[name]}" in lines
        assert f"{module} {exact[name]} {built[name]}" in lines


def test_the_version_of_transformers_is_one_that_its_row_allows() -> None:
    for row in stacks.rows():
        version = stacks.installed(row)["transformers"]
        for statement in stacks.statements(row, "transformers"):
            assert stacks.in_range(version, statement.specifier), row.label()


QUERIES = (
    "info",
    "info -l",
    "info -m",
    "info -t memory -i 0",
    "info -t health -i 0",
    "info -t board -i 0",
)


def answers_of_npu_smi(devices: hardware.Devices, root: Path, weights: Path) -> dict[str, str]:
    """What the stub of npu-smi answers a script that asks it, by query."""
    script = "\n".join(f"echo '=== {query}'; npu-smi {query}" for query in QUERIES)
    said = dry_run(script, root, weights, devices=devices).run.stdout
    return dict(part.split("\n", maxsplit=1) for part in said.split("=== ")[1:])


@pytest.mark.process
@pytest.mark.parametrize("name", every(3, KINDS))
def test_npu_smi_shows_the_named_devices(name: str, tmp_path: Path, weights: Path) -> None:
    kind = hardware.find(name)[0]
    devices = hardware.Devices(kind=kind, count=3)
    answers = answers_of_npu_smi(devices, tmp_path / "repo", weights)
    chips = npu_smi.parse(answers["info"]).chips
    cards = -(-3 // kind.per_card)
    assert [chip.total_mib for chip in chips] == [kind.memory_bytes // hardware.MIB] * 3
    assert (
        hardware.listed_devices([chip.name for chip in chips], chips[0].total_mib or 0) == devices
    )
    assert {chip.npu for chip in chips} == set(range(cards))
    counted = re.findall(r"Chip Count\s*: (\d+)", answers["info -l"])
    assert list(map(int, counted)) == [
        min(kind.per_card, 3 - card * kind.per_card) for card in range(cards)
    ]


@pytest.mark.process
def test_python_and_the_device_nodes_show_the_same_devices(tmp_path: Path, weights: Path) -> None:
    script = (
        "ls /dev | grep -c '^davinci[0-9]' || true\n"
        "ASK='import torch, torch_npu; print(torch.npu.device_count(), torch_npu.npu.get_device_name(0), "
        "torch.npu.get_device_properties(0).total_memory)'\n"
        'python3 -c "$ASK"\nASCEND_RT_VISIBLE_DEVICES=0,2 python3 -c "$ASK"\n'
        'ASCEND_RT_VISIBLE_DEVICES=1,7 python3 -c "$ASK"'
    )
    plan = dry_run(
        script, tmp_path / "repo", weights, devices=hardware.named_devices("310P3-Duo", 4)
    )
    usable = hardware.find("310P3-Duo")[0].usable_bytes
    nodes, *counts = plan.run.stdout.splitlines()
    assert nodes == "4" or not plan.observed.isolated
    assert counts == [f"{count} Ascend310P3 {usable}" for count in (4, 2, 1)]


@pytest.mark.process
def test_without_a_name_there_is_one_device(tmp_path: Path, weights: Path) -> None:
    plan = dry_run("npu-smi info", tmp_path / "repo", weights)
    assert [chip.name for chip in npu_smi.parse(plan.run.stdout).chips] == ["910B3"]


@pytest.mark.parametrize(
    ("recording", "kind", "count"),
    [
        ("healthy-910b3-x8", "910B3", 8),
        ("one-910b4-in-a-container", "910B4", 1),
        ("a3-16-dies", "910C", 16),
        ("310p-duo", "310P3-Duo", 8),
        ("950-with-warnings", "950DT", 8),
        ("npu-smi-9005-torch-works", None, 0),
        ("no-npu", None, 0),
    ],
)
def test_the_devices_of_a_machine_are_those_that_npu_smi_shows(
    recording: str, kind: str | None, count: int
) -> None:
    found = devices_here(recorded_machine(recording))
    assert ((found.kind.name, found.count) if found else (None, 0)) == (kind, count)


def test_only_a_number_is_that_many_of_the_assumed_kind() -> None:
    assert hardware.named_devices("", 5) == hardware.Devices(
        kind=hardware.find("910B3")[0], count=5
    )
    assert hardware.named_devices("910C", 0).count == 16


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template's repository as `npu-adapter new` makes it."""
    destination = tmp_path_factory.mktemp("template") / "my-adapter"
    command = [
        sys.executable,
        "-m",
        "healthcheck",
        "new",
        destination,
        "--template",
        "planned",
        "--defaults",
    ]
    subprocess.run(command, check=True, capture_output=True)
    return destination


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gigabytes", "options"),
    [
        (16.4, ("--npu", "310P3-Duo")),
        (65.5, ("--npu", "910B3", "--npus", "8")),
        (65.5, ("--npu", "910C")),
    ],
)
def test_the_templates_adapter_is_ready_on_the_named_devices(
    gigabytes: float, options: tuple[str, ...], template: Path, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w", QWEN3, {"w": ("BF16", (int(gigabytes * 10**9) // 2,))})
    done = subprocess.run(
        [sys.executable, "-m", "healthcheck", "verify", template, "--weights", folder, "--until", "weights", *options],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
