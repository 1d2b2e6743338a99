"""`verify --weights-config` and `--model-id`: the task and the hardware, judged without the weights."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck import cli
from healthcheck.extensions.simulator import Behaviour, Simulator
from tests.support.verifications import kit

CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 5120, "num_attention_heads": 64,
    "num_key_value_heads": 8, "num_hidden_layers": 64, "head_dim": 128, "intermediate_size": 25600,
    "vocab_size": 151936, "max_position_embeddings": 40960, "torch_dtype": "bfloat16",
}  # fmt: skip
INDEX = {
    "metadata": {"total_size": 65_524_246_528},
    "weight_map": {"a": "model-00001-of-00017.safetensors"},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The configuration of a model of 61 GiB, and its index."""
    folder = tmp_path / "Qwen3-32B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model.safetensors.index.json").write_text(json.dumps(INDEX))
    return folder / "config.json"


def judged(adapter: Path, tmp_path: Path, *words: str | Path):
    saved = tmp_path / "report.json"
    status = cli.main(["verify", str(adapter), "--quiet", "--json", str(saved), *map(str, words)])
    report = json.loads(saved.read_text("utf-8"))
    return status, {check["id"]: check for check in report["checks"]}, report


def said(check: dict) -> str:
    return json.dumps(check, ensure_ascii=False)


@pytest.mark.process
def test_hardware_and_task_are_judged_by_the_configuration_and_the_index(adapter, config, tmp_path):
    status, checks, report = judged(
        adapter,
        tmp_path,
        "--weights-config",
        config,
        "--npu",
        "910B4",
        "--npus",
        "2",
        "--task",
        "image-text-to-text",
    )
    assert status == 1
    assert "61.0 GiB of weights" in said(checks["plan/fits-hardware"])
    assert checks["task/matches-weights"]["outcome"] == "fail"
    assert checks["weights/present"]["outcome"] == checks["weights/tokenizer"]["outcome"] == "skip"
    assert "configuration alone" in report["asked"]
    assert report["provenance"]["weights"] == str(config)


@pytest.mark.slow
def test_enough_devices_are_enough(adapter, config, tmp_path):
    status, checks, _ = judged(
        adapter, tmp_path, "--weights-config", config, "--npu", "910B4", "--npus", "4"
    )
    assert status == 0
    assert checks["plan/fits-hardware"]["outcome"] == "pass"


@pytest.mark.process
def test_without_an_index_the_hardware_is_not_settled(adapter, config, tmp_path):
    config.with_name("model.safetensors.index.json").unlink()
    status, checks, _ = judged(adapter, tmp_path, "--weights-config", config)
    assert status == 3
    assert not checks["plan/fits-hardware"]["settled"]
    assert "put model.safetensors.index.json beside" in said(checks["plan/fits-hardware"])
    assert checks["weights/size-limit"]["outcome"] == "skip"


@pytest.mark.slow
def test_what_the_index_announces_counts_for_the_size_limit(adapter, config, tmp_path):
    status, checks, _ = judged(
        adapter, tmp_path, "--weights-config", config, "--weight-limit", "60"
    )
    assert status == 1
    assert "65,524,246,528 bytes" in said(checks["weights/size-limit"])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--weights-config", "nosuch.json"], "nosuch.json is not a file"),
        (["--weights-config", "c.json", "--model-id", "a/b"], "exclude each other"),
        (
            ["--weights-config", "c.json", "--until", "service"],
            "--until service needs the weights themselves",
        ),
    ],
)
def test_wrong_usage(words, says, tmp_path, capsys):
    assert cli.main(["verify", str(tmp_path), *words]) == 2
    assert says in capsys.readouterr().err


CLIENT = """
import pathlib, shutil
def snapshot_download(model, *, local_dir, allow_patterns):
    if model != "Qwen/Qwen3-32B":
        raise OSError("no such\\nmodel")
    for name in allow_patterns:
        if pathlib.Path("SOURCE", name).exists():
            shutil.copy(pathlib.Path("SOURCE", name), local_dir)
"""


def with_client(tmp_path: Path, client: str, *words: str | Path):
    """Run the command where a module stands for the client of a model hub; nothing goes over the network."""
    modules = tmp_path / "modules"
    modules.mkdir()
    for name in ("huggingface_hub", "modelscope"):
        (modules / f"{name}.py").write_text(client)
    program = f"import sys; sys.path.insert(0, {str(modules)!r}); from healthcheck.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, *kit(*words)[3:]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_models_name_is_enough_where_a_client_is_installed(adapter, config, tmp_path):
    client = CLIENT.replace("SOURCE", str(config.parent))
    words = (
        "verify",
        adapter,
        "--quiet",
        "--model-id",
        "Qwen/Qwen3-32B",
        "--npu",
        "910B4",
        "--npus",
        "4",
    )
    done = with_client(tmp_path, client, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "configuration alone" in done.stdout


@pytest.mark.process
def test_what_the_hub_does_not_give_is_in_the_way(adapter, tmp_path):
    done = with_client(tmp_path, CLIENT, "verify", adapter, "--quiet", "--model-id", "Qwen/nosuch")
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "npu-adapter: the configuration of Qwen/nosuch cannot be downloaded: no such model"
    ]


@pytest.mark.process
def test_a_report_of_its_own_goes_where_git_does_not_look(adapter, monkeypatch, capsys):
    monkeypatch.chdir(adapter)
    with Simulator(Behaviour()) as simulator:
        assert cli.main(["verify", "--url", simulator.url, "--until", "endpoint", "--quiet"]) != 2
    assert "Report: report/verify-" in capsys.readouterr().out.replace(f"{adapter}/", "")
    git = subprocess.run(
        ["git", "status", "--porcelain"], cwd=adapter, capture_output=True, text=True, check=True
    )
    assert git.stdout == ""
