"""plan/engine-config with the real vLLM and vllm-ascend 0.23.0, which `make engine-config` installs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.conftest import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]
ENVIRONMENT = ROOT / ".venv-engine-config"
QWEN3 = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072,
    "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 1000,
    "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    assert (ENVIRONMENT / "ready").is_file(), "there is no .venv-engine-config: run `make engine-config`"
    folder = tmp_path / "Qwen3 of mine"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(QWEN3), encoding="utf-8")
    return folder


def verified(repository: Path, weights: Path, *options: str) -> dict[str, str]:
    """What `npu-adapter verify --deep` says of plan/engine-config."""
    command = [sys.executable, "-m", "healthcheck", "verify", repository, "--weights", weights, "--until", "plan"]
    done = subprocess.run(
        [*command, "--deep", "--json", "-", "--quiet", *options], stdout=subprocess.PIPE, cwd=ROOT, check=False
    )
    (found,) = [check for check in json.loads(done.stdout)["checks"] if check["id"] == "plan/engine-config"]
    return found


def repository(tmp_path: Path, *arguments: str) -> Path:
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "requirements.txt").touch()
    script = folder / "deploy.sh"
    words = " ".join(arguments)
    script.write_text(f'#!/bin/sh\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 {words}\n')
    script.chmod(0o755)
    return folder


def test_a_good_plan_is_built(tmp_path: Path, weights: Path):
    plan = repository(tmp_path, "--tensor-parallel-size 2", "--max-model-len 2048", "--gpu-memory-utilization 0.9")
    found = verified(plan, weights, "--npu", "910B4", "--npus", "2")
    assert found["outcome"] == "pass", found["detail"]
    assert "2 × 910B4" in found["detail"]
    assert "max_model_len 2048, dtype bfloat16, block_size 128" in found["detail"]


def test_the_heads_that_tensor_parallelism_does_not_divide_are_refused(tmp_path: Path, weights: Path):
    found = verified(repository(tmp_path, "--tensor-parallel-size 3"), weights)
    assert found["outcome"] == "fail", found["detail"]
    assert "Total number of attention heads (16) must be divisible by tensor parallel size (3)" in found["detail"]
    assert "--tensor-parallel-size 3" in found["fix"]


def test_a_missing_modelslim_description_is_refused(tmp_path: Path, weights: Path):
    found = verified(repository(tmp_path, "--quantization ascend"), weights)
    assert found["outcome"] == "fail", found["detail"]
    assert "quant_model_description.json" in found["detail"]
    assert "--quantization ascend" in found["fix"]


def test_a_scheme_that_the_registry_has_is_built(tmp_path: Path, weights: Path):
    described = {"model_quant_type": "W8A8", "model.layers.0.self_attn.q_proj.weight": "W8A8_DYNAMIC"}
    (weights / "quant_model_description.json").write_text(json.dumps(described), encoding="utf-8")
    found = verified(repository(tmp_path, "--quantization ascend"), weights)
    assert found["outcome"] == "pass", found["detail"]


def test_a_given_option_that_has_no_effect_is_a_warning(tmp_path: Path, weights: Path):
    found = verified(repository(tmp_path, "--disable-cascade-attn", "--block-size 16"), weights)
    assert found["outcome"] == "warn", found["detail"]
    assert "parameter=disable_cascade_attn" in found["detail"]
    assert "--block-size 16" in found["detail"]
