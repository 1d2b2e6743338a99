"""The options and the commands for several machines."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from adapter.device import Machine
from adapter.plan import group_of, make_plan
from adapter.settings import Setting, SettingsError
from adapter.weights import Attention, Weights

ROOT = Path(__file__).parents[2]
A2 = Machine(8, "910B3", 65536, "test")
LARGE = Weights(
    path="/w", architecture="LlamaForCausalLM", dtype="bfloat16", context=131072, total_bytes=600 * 10**9,
    attention=Attention(layers=126, heads=128, kv_heads=8, head_dim=128),
)  # fmt: skip
GROUP = {"nodes": ("10.0.0.1", "10.0.0.2"), "network_interface": "eth0"}


def settings(**values):
    return {key: Setting(value, "adapter.toml") for key, value in (GROUP | values).items()}


def planned(**values):
    return make_plan(LARGE, A2, settings(**values))


def test_a_pipeline_without_ray():
    first = planned(multi_node="mp").arguments()
    assert first[first.index("--nnodes") :][:6] == (
        "--nnodes", "2", "--node-rank", "0", "--master-addr", "10.0.0.1",
    )  # fmt: skip
    assert first[first.index("--distributed-executor-backend") + 1] == "mp"
    assert first[first.index("--pipeline-parallel-size") + 1] == "2"
    assert "--headless" not in first
    second = planned(multi_node="mp", node_rank=1).arguments()
    assert second[second.index("--node-rank") + 1] == "1"
    assert "--headless" in second


def test_ray_needs_no_ranks():
    assert not {"--nnodes", "--node-rank", "--master-addr", "--headless"} & {
        *planned(multi_node="ray").arguments()
    }


@pytest.mark.parametrize("style", ["ray", "mp", "data-parallel"])
def test_each_machine_gets_its_address_and_the_interface(style):
    text = group_of(settings(multi_node=style)).commands("/my weights", ())
    first, second = text.split("# on 10.0.0.2")
    assert "export HCCL_IF_IP=10.0.0.1" in first
    assert "export HCCL_IF_IP=10.0.0.2" in second
    assert text.count("export HCCL_SOCKET_IFNAME=eth0") == 2
    assert ("ray start" in text) is (style == "ray")
    assert "MODEL_PATH=/my weights" in shlex.split(text.splitlines()[-1])


def test_a_repository_for_one_machine_says_what_it_lacks(monkeypatch):
    monkeypatch.setitem(sys.modules, "adapter.nodes", None)
    monkeypatch.delattr("adapter.nodes", raising=False)
    with pytest.raises(SettingsError, match=r"multi_node needs adapter/nodes\.py"):
        planned(multi_node="mp")


@pytest.mark.parametrize("style", ["mp", "data-parallel"])
def test_every_machine_launches_with_its_rank(style):
    text = group_of(settings(multi_node=style)).commands("/w", ())
    assert [line.split()[0] for line in text.splitlines() if "deploy.sh" in line] == [
        "ADAPTER_NODE_RANK=0", "ADAPTER_NODE_RANK=1",
    ]  # fmt: skip


def test_ray_starts_with_the_variables_of_the_plan_and_of_cann():
    plan = planned(multi_node="ray")
    text = group_of(settings(multi_node="ray")).commands("/w", plan.environment)
    for machine in text.split("# on 10.0.0.")[1:3]:
        before, started, _ = machine.partition("ray start")
        assert started
        for name in (
            "PYTORCH_NPU_ALLOC_CONF",
            "OMP_NUM_THREADS",
            "TASK_QUEUE_ENABLE",
            "HCCL_OP_EXPANSION_MODE",
        ):
            assert f"export {name}=" in before
        assert before.count("adapter.sourced") == 2
        assert "ascend-toolkit/set_env.sh" in before
        assert "nnal/atb/set_env.sh" in before


@pytest.mark.process
@pytest.mark.parametrize("toolkit", ["ascend-toolkit", "cann"])
def test_ray_starts_with_canns_variables_wherever_cann_is(toolkit, tmp_path):
    for folder, name in ((toolkit, "FROM_CANN"), ("nnal/atb", "FROM_ATB")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "set_env.sh").write_text(f"export {name}=1\n")
    text = group_of(settings(multi_node="ray")).commands("/w", ())
    script = text.split("# on 10.0.0.2")[1].partition("ray start")[0].partition("\n")[2]
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    done = subprocess.run(
        ["sh", "-c", script + '\nprintf "%s %s" "$FROM_CANN" "$FROM_ATB"'], capture_output=True, text=True,
        cwd=ROOT, env={"PATH": f"{python.parent}:/usr/bin:/bin", "ASCEND_ROOT": str(tmp_path)}, check=False,
    )  # fmt: skip
    assert done.stdout == "1 1", done.stderr
