"""The repair of a known failure, in the words of the repository that was launched."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from healthcheck.stages.service.catalogue import catalogue
from healthcheck.stages.service.repairs import UNKNOWN, repair_of, setup_of
from healthcheck.text.language import Language, translation

ENGLISH = re.compile(r"(?:\\b[a-z]{2,} ){4}")
QUOTED = re.compile(r"`[^`]*`|“[^”]*”|\"[^\"]*\"")
KNOWN = {failure.id: failure for failure in catalogue().failures}
ROOT = Path(__file__).parents[2]
REFERENCE = setup_of(ROOT)
"""The reference adapter, which this repository is."""


def repository(
    folder: Path, *, deploy: str = "", settings: str | None = None, module: str = ""
) -> Path:
    (folder / "deploy.sh").write_text(deploy)
    if settings is not None:
        (folder / "adapter.toml").write_text(settings)
    (folder / "adapter").mkdir()
    (folder / "adapter" / "environment.py").write_text(module)
    return folder


def test_without_adapter_toml_options_and_variables_are_named_as_the_shell_has_them(tmp_path):
    said = repair_of(KNOWN["npu-oom"], setup_of(repository(tmp_path)))
    assert said == repair_of(KNOWN["npu-oom"], UNKNOWN)
    assert "--tensor-parallel-size" in said
    assert said.endswith("In deploy.sh, export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True.")


def test_an_option_that_adapter_toml_has_is_named_by_its_key(tmp_path):
    settings = "# max_model_len = 32768\ngpu_memory_utilization = 0.9\n"
    said = repair_of(KNOWN["npu-oom"], setup_of(repository(tmp_path, settings=settings)))
    assert "max_model_len" in said
    assert "--max-model-len" not in said
    assert "In adapter.toml, set max_model_len or gpu_memory_utilization." in said
    assert "In adapter.toml, add --tensor-parallel-size or --max-num-seqs to extra_args." in said


@pytest.mark.parametrize(
    "committed",
    [
        {"deploy": "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\n"},
        {"deploy": "PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:256 vllm serve\n"},
        {"module": 'chosen = [Decision("PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True")]\n'},
    ],
)
def test_a_variable_that_the_repository_sets_is_not_named_again(tmp_path, committed):
    said = repair_of(KNOWN["npu-oom"], setup_of(repository(tmp_path, **committed)))
    assert "PYTORCH_NPU_ALLOC_CONF" not in said


def test_a_variable_in_a_comment_is_not_set(tmp_path):
    deploy = "# export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\n"
    assert "PYTORCH_NPU_ALLOC_CONF" in repair_of(
        KNOWN["npu-oom"], setup_of(repository(tmp_path, deploy=deploy))
    )


def test_the_reference_adapter_is_never_told_what_it_does_already(subtests: pytest.Subtests):
    for failure in KNOWN.values():
        with subtests.test(failure.id):
            said = repair_of(failure, REFERENCE)
            assert not [
                name
                for name in failure.variables.keys() & REFERENCE.variables
                if f"{name}=" in said
            ]
            assert REFERENCE.keys
            assert not [key for key in REFERENCE.keys if f"--{key.replace('_', '-')} " in said]


def test_what_the_reference_adapter_sets_is_known():
    names = {
        "PYTORCH_NPU_ALLOC_CONF",
        "HCCL_BUFFSIZE",
        "VLLM_ENGINE_READY_TIMEOUT_S",
        "HF_HUB_OFFLINE",
    }
    assert names <= REFERENCE.variables
    assert REFERENCE.keys
    assert {"tensor_parallel_size", "extra_args", "max_model_len"} <= REFERENCE.keys


def test_links_and_strange_files_are_not_read(tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("max_model_len = 1\nexport HCCL_BUFFSIZE=1\n")
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "adapter.toml").symlink_to(outside)
    (folder / "adapter").symlink_to(tmp_path)
    os.mkfifo(folder / "deploy.sh")
    assert setup_of(folder) == UNKNOWN


@pytest.mark.parametrize("setup", [UNKNOWN, REFERENCE], ids=["unknown", "reference"])
def test_every_cause_and_repair_is_said_in_chinese(setup):
    say = translation(Language.CHINESE).say
    for failure in KNOWN.values():
        cause, fix = say(failure.cause), say(repair_of(failure, setup))
        assert not [said for said in (cause, fix) if ENGLISH.search(QUOTED.sub("", said))], (
            f"{cause}\n{fix}"
        )
