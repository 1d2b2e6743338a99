"""Weights that other users may not read can be read in the sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.corpus import sh
from tests.plan.test_sandbox import plan_of

pytestmark = pytest.mark.process


def test_weights_of_a_download_cache_can_be_read(tmp_path: Path) -> None:
    cache = tmp_path / "models--org--tiny"
    (cache / "blobs").mkdir(parents=True)
    (cache / "blobs/abc").write_text('{"model_type": "qwen3"}')
    snapshot = cache / "snapshots/0123"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").symlink_to("../../blobs/abc")
    for folder in (tmp_path, *tmp_path.rglob("*")):
        if folder.is_dir():
            folder.chmod(0o755)
    plan = plan_of(
        tmp_path,
        sh('grep qwen3 "$MODEL_PATH/config.json" && exec vllm serve "$MODEL_PATH"'),
        snapshot,
        "namespaces",
    )
    assert plan.server is not None, plan.run.stderr
    assert plan.server.model == plan.model_path


def test_weights_that_only_their_owner_may_read_can_be_read(tmp_path: Path, weights: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "config.json").write_text('{"model_type": "qwen3"}')
    (private / "config.json").chmod(0o600)
    with (private / "model.safetensors").open("wb") as file:
        file.truncate(10**11)
    deploy = sh(
        'grep qwen3 "$MODEL_PATH/config.json" && stat -c %s "$MODEL_PATH"/* && exec vllm serve "$MODEL_PATH"'
    )
    plan = plan_of(tmp_path, deploy, private, "namespaces")
    assert plan.server is not None, plan.run.stderr
    assert str(10**11) in plan.run.stdout
