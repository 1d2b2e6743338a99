"""What deploy.sh is given: the shell that it names, and variables by an allow-list."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.stages.service.environment import interpreter, scrubbed

WEIGHTS = Path("/weights of/模型")


@pytest.mark.parametrize(
    ("first_line", "expected"),
    [
        ("#!/bin/bash", ("/bin/bash",)),
        ("#! /bin/sh", ("/bin/sh",)),
        ("#!/usr/bin/env bash", ("/usr/bin/env", "bash")),
        ("#!/bin/bash -e -u", ("/bin/bash", "-e -u")),
        ("echo no shebang", ("bash",)),
        ("", ("bash",)),
        ("#!", ("bash",)),
    ],
)
def test_the_shell_is_the_one_that_the_first_line_names(tmp_path, first_line, expected):
    script = tmp_path / "deploy.sh"
    script.write_text(first_line + "\nexit 0\n")
    assert interpreter(script) == expected


def test_an_authors_shell_does_not_leak_and_the_machine_is_there():
    own = {
        "PATH": "/opt/venv/bin:/usr/bin",
        "HOME": "/home/me",
        "LC_ALL": "C.UTF-8",
        "ASCEND_TOOLKIT_HOME": "/usr/local/Ascend/latest",
        "HCCL_IF_IP": "10.0.0.1",
        "PYTHONPATH": "/home/me/project:/usr/local/Ascend/ascend-toolkit/latest/python/site-packages:",
        "VLLM_PLUGINS": "mine",
        "HF_TOKEN": "secret",
        "https_proxy": "http://proxy",
        "MODEL_PATH": "/somewhere/else",
        "EDITOR": "vi",
    }
    variables, withheld = scrubbed(own, weights=WEIGHTS, extra={"VLLM_CPU_KVCACHE_SPACE": "1"})
    assert variables == {
        "PATH": "/opt/venv/bin:/usr/bin",
        "HOME": "/home/me",
        "LC_ALL": "C.UTF-8",
        "ASCEND_TOOLKIT_HOME": "/usr/local/Ascend/latest",
        "HCCL_IF_IP": "10.0.0.1",
        "PYTHONPATH": "/usr/local/Ascend/ascend-toolkit/latest/python/site-packages",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "MODEL_PATH": str(WEIGHTS),
    }
    assert withheld == ("HF_TOKEN", "VLLM_PLUGINS", "https_proxy")


def test_what_is_given_by_name_wins_and_there_is_always_a_path():
    variables, _ = scrubbed({}, weights=WEIGHTS, extra={"https_proxy": "http://proxy"})
    assert variables["https_proxy"] == "http://proxy"
    assert variables["PATH"]
