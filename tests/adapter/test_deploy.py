"""deploy.sh in real shells, with a `vllm` that records what it was given."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELLS = [shell for shell in ("dash", "bash", "sh", "busybox") if shutil.which(shell)]
if {"dash", "sh"} <= {*SHELLS} and os.path.samefile(shutil.which("dash"), shutil.which("sh")):
    SHELLS.remove("sh")  # which, unlike bash, is the same under either name
STRANGE = "weights of 模型 'single' \"double\" $HOME `id` \\ * ; & end"
RECORDER = """\
#!{python} -IS
import json, os, sys
with open(os.environ["RECORD"], "w") as file:
    json.dump({{"argv": sys.argv[1:], "environment": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}}, file)
"""


@pytest.fixture(params=SHELLS)
def shell(request):
    return ["busybox", "sh"] if request.param == "busybox" else [request.param]


@pytest.fixture
def weights(tmp_path):
    folder = tmp_path / STRANGE
    folder.mkdir()
    config = {
        "architectures": ["Qwen3ForCausalLM"], "torch_dtype": "bfloat16", "max_position_embeddings": 2048,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 128,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def launch(shell, tmp_path):
    binaries = tmp_path / "bin"
    binaries.mkdir()
    (binaries / "vllm").write_text(RECORDER.format(python=sys.executable))
    (binaries / "vllm").chmod(0o755)

    def run(script=ROOT / "deploy.sh", cwd="/", **environment):
        record = tmp_path / "record.json"
        variables = {
            "PATH": f"{binaries}:{os.environ['PATH']}", "HOME": "/nonexistent", "RECORD": str(record),
            "ASCEND_ROOT": str(tmp_path / "no-ascend"), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        done = subprocess.run(
            [*shell, script],
            cwd=cwd,
            env=variables | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        return done, json.loads(record.read_text()) if record.exists() else None

    return run


@pytest.mark.process
@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_parses_it(shell):
    command = ["busybox", "sh"] if shell == "busybox" else [shell]
    assert (
        subprocess.run([*command, "-n", ROOT / "deploy.sh"], capture_output=True, check=True).stderr
        == b""
    )


@pytest.mark.process
@pytest.mark.parametrize("value", [None, "", "/no/such/folder", __file__])
def test_it_refuses_to_start_without_weights(launch, value):
    done, record = launch(**({} if value is None else {"MODEL_PATH": value}))
    assert done.returncode != 0
    assert record is None
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "MODEL_PATH" in done.stderr


@pytest.mark.process
def test_a_strange_path_arrives_as_it_is(launch, weights):
    done, record = launch(MODEL_PATH=str(weights))
    assert done.returncode == 0, done.stderr
    assert record["argv"][:6] == ["serve", str(weights), "--host", "0.0.0.0", "--port", "8000"]
    assert record["argv"][record["argv"].index("--max-model-len") + 1] == "2048"


@pytest.mark.process
def test_a_relative_path_is_served_under_the_name_it_was_given(launch, weights):
    done, record = launch(MODEL_PATH=weights.name, cwd=weights.parent)
    assert done.returncode == 0, done.stderr
    assert record["argv"][1] == weights.name
    assert record["cwd"] == str(weights.parent)
    assert "--max-model-len" in record["argv"]


@pytest.mark.process
def test_another_adapter_in_the_working_folder_is_not_taken(launch, weights, tmp_path):
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "__main__.py").write_text("raise SystemExit('the wrong one')")
    done, record = launch(MODEL_PATH=str(weights), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert record


@pytest.mark.process
def test_it_works_through_a_strange_folder_of_its_own(launch, weights, tmp_path):
    place = tmp_path / "仓库 'x' $y"
    place.mkdir()
    shutil.copy2(ROOT / "deploy.sh", place)
    shutil.copytree(
        ROOT / "adapter", place / "adapter", ignore=shutil.ignore_patterns("__pycache__")
    )
    done, record = launch(script=place / "deploy.sh", MODEL_PATH=str(weights))
    assert done.returncode == 0, done.stderr
    assert record


@pytest.mark.process
def test_a_setting_that_cannot_be_used_stops_it_with_one_line(launch, weights):
    done, record = launch(MODEL_PATH=str(weights), ADAPTER_MAX_MODEL_LEN="lots")
    assert done.returncode != 0
    assert record is None
    assert done.stderr.splitlines() == [
        "adapter: ADAPTER_MAX_MODEL_LEN is 'lots': expected a whole number of at least 1"
    ]


@pytest.mark.process
def test_extra_arguments_with_spaces_and_quotes_arrive_whole(launch, weights):
    extra = """--chat-template '/a b/$c.jinja' --override "it's" """
    _, record = launch(MODEL_PATH=str(weights), ADAPTER_EXTRA_ARGS=extra)
    assert record["argv"][-4:] == ["--chat-template", "/a b/$c.jinja", "--override", "it's"]


CANN = """\
if [[ -n "$ZSH_VERSION" ]]; then echo zsh; fi
false
echo "sourced by $BASH_SOURCE"
export ASCEND_HOME_PATH="$(dirname "${BASH_SOURCE[0]}")/latest"
export LD_LIBRARY_PATH="/cann/lib64:$LD_LIBRARY_PATH" NEWLINE=$'one\\n'"two's \\$x"
not_exported=1
return 1
"""
ATB = "export ATB_HOME_PATH=${ASCEND_HOME_PATH}/atb${UNSET_BEFORE}\nexit 3\n"


def install(root, toolkit="ascend-toolkit"):
    for place, text in (
        (f"{toolkit}/set_env.sh", CANN),
        ("nnal/atb/set_env.sh", ATB.replace("exit 3\n", "")),
    ):
        (root / place).parent.mkdir(parents=True)
        (root / place).write_text(text)


@pytest.mark.process
@pytest.mark.parametrize("toolkit", ["ascend-toolkit", "cann"])
def test_it_takes_over_what_cann_and_atb_export(launch, weights, tmp_path, toolkit):
    root = tmp_path / "Ascend 'root'"
    install(root, toolkit)
    done, record = launch(MODEL_PATH=str(weights), ASCEND_ROOT=str(root), LD_LIBRARY_PATH="/mine")
    assert done.returncode == 0, done.stderr
    environment = record["environment"]
    assert environment["ASCEND_HOME_PATH"] == f"{root}/{toolkit}/latest"
    assert environment["ATB_HOME_PATH"] == f"{root}/{toolkit}/latest/atb"
    assert environment["LD_LIBRARY_PATH"] == "/cann/lib64:/mine"
    assert environment["NEWLINE"] == "one\ntwo's $x"
    assert "not_exported" not in environment
    assert record["argv"][1] == str(weights)


@pytest.mark.process
def test_a_script_that_exits_harms_nothing(launch, weights, tmp_path):
    script = tmp_path / "Ascend" / "nnal" / "atb" / "set_env.sh"
    script.parent.mkdir(parents=True)
    script.write_text(ATB)
    done, record = launch(MODEL_PATH=str(weights), ASCEND_ROOT=str(tmp_path / "Ascend"))
    assert done.returncode == 0, done.stderr
    assert record


def test_the_last_line_says_what_is_served():
    last = (ROOT / "deploy.sh").read_text().splitlines()[-1]
    assert last == 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 "$@"'


NPU_SMI = """#!/bin/sh
cat <<'TABLE'
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
| 5     910B4               | OK            | 89.9        39                0    / 0             |
| 0                         | 0000:41:00.0  | 0           0    / 0          2922/ 32768          |
TABLE
"""


@pytest.mark.process
def test_a_machine_with_an_npu_gets_its_options_and_variables(launch, weights, tmp_path):
    (tmp_path / "bin" / "npu-smi").write_text(NPU_SMI)
    (tmp_path / "bin" / "npu-smi").chmod(0o755)
    done, record = launch(MODEL_PATH=str(weights), OMP_NUM_THREADS="3")
    assert done.returncode == 0, done.stderr
    assert record["argv"][record["argv"].index("--gpu-memory-utilization") + 1] == "0.9"
    assert record["environment"]["VLLM_WORKER_MULTIPROC_METHOD"] == "spawn"
    assert record["environment"]["OMP_NUM_THREADS"] == "3"


@pytest.mark.process
def test_weights_that_cannot_work_stop_it_with_the_reason(launch, weights, tmp_path):
    (tmp_path / "bin" / "npu-smi").write_text(NPU_SMI)
    (tmp_path / "bin" / "npu-smi").chmod(0o755)
    with (weights / "model.safetensors").open("wb") as file:
        file.truncate(10**11)
    done, record = launch(MODEL_PATH=str(weights))
    assert done.returncode != 0
    assert record is None
    (line,) = done.stderr.splitlines()
    assert line.startswith("adapter: the weights need 93.1 GiB")
