"""A launch that fails for want of what only the service's image has says nothing about a submission."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.check import Check
from healthcheck.records import Outcome
from healthcheck.service.checks import START_CHECKS
from healthcheck.service.records import Launch
from tests.service.launching import service

STARTS: Check[Launch] = START_CHECKS[0]
PLAIN = "/usr/bin:/bin"
NOT_HERE = {
    "sh": ('exec vllm serve "$MODEL_PATH"', "`vllm`"),
    "bash": ("#!/bin/bash\nvllm serve x", "`vllm`"),
    "bash, exec": ("#!/bin/bash\nexec vllm serve x", "`vllm`"),
    "nohup": ("nohup vllm serve x", "`vllm`"),
    "timeout": ("timeout 9 vllm serve x", "`vllm`"),
    "env": ("exec env A=1 vllm serve x", "`vllm`"),
    "in the background": ("vllm serve x &\nwait $!", "`vllm`"),
    "a pipe": ("#!/bin/bash\nset -o pipefail\nvllm serve x 2>&1 | tee x.log", "`vllm`"),
    "a module that is run": ("exec python3 -m vllm.entrypoints.openai.api_server", "vllm"),
    "a launcher in Python": ('python3 -c \'import subprocess; subprocess.run(["vllm", "serve"])\'', "`vllm`"),
    "a tool for the log": ("set -e\nnpu-smi info\nexec vllm serve x", "`npu-smi`"),
    "torch_npu": ("python3 -c 'import torch_npu'", "torch_npu"),
    "a library of CANN": (
        "echo 'ImportError: libascendcl.so: cannot open shared object file: No such file or directory'; exit 1",
        "CANN",
    ),
}
OWN_FAULT = {
    "another module": "python3 -c 'import module_of_nobody'",
    "another program": "exec program_of_nobody",
    "a missing tool that did not matter": "npu-smi || true\necho 'RuntimeError: NPU out of memory.' >&2\nexit 1",
    "an exit without a word": "exit 3",
}


@pytest.mark.parametrize("case", NOT_HERE)
def test_what_this_machine_lacks_leaves_the_verdict_open(case: str, tmp_path: Path) -> None:
    script, named = NOT_HERE[case]
    with service(tmp_path, script, environment={"PATH": PLAIN}) as running:
        result = STARTS.judge(running.launch)
    (finding,) = [found for found in result.findings if found.expected]
    assert (result.outcome, result.settled) == (Outcome.SKIP, False), finding.seen
    assert "This machine has no" in finding.seen
    assert named in finding.seen
    assert "--until weights" in finding.fix
    assert "--url" in finding.fix


@pytest.mark.parametrize("case", OWN_FAULT)
def test_any_other_failure_is_the_submissions(case: str, tmp_path: Path) -> None:
    with service(tmp_path, OWN_FAULT[case], environment={"PATH": PLAIN}) as running:
        assert STARTS.judge(running.launch).outcome is Outcome.FAIL


def test_a_program_that_is_here_and_that_the_script_loses_is_its_fault(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "vllm").write_text("#!/bin/sh\nexit 0\n")
    (folder / "vllm").chmod(0o755)
    script = "PATH=/usr/bin:/bin\nexec vllm serve x"
    with service(tmp_path, script, environment={"PATH": f"{folder}:{PLAIN}"}) as running:
        assert STARTS.judge(running.launch).outcome is Outcome.FAIL
