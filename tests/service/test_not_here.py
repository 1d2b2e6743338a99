"""A launch that fails for want of what only the service's image has says nothing about a submission."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.check import Check
from healthcheck.core.records import Outcome
from healthcheck.stages.service.checks import START_CHECKS
from healthcheck.stages.service.records import Launch
from tests.service.launching import free_port, service

pytestmark = pytest.mark.process

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
    "a launcher in Python": (
        'python3 -c \'import subprocess; subprocess.run(["vllm", "serve"])\'',
        "`vllm`",
    ),
    "a tool for the log": ("set -e\nnpu-smi info\nexec vllm serve x", "`npu-smi`"),
    "torch_npu": ("python3 -c 'import torch_npu'", "torch_npu"),
    "after a failure that was passed over": (
        "python3 -c 'import module_of_nobody'\nvllm serve x",
        "`vllm`",
    ),
    "with words of the script's own": (
        "vllm serve x || { echo 'ERROR: the server failed'; exit 1; }",
        "`vllm`",
    ),
    "a launcher that passes it on": (
        "exec python3 -c 'import subprocess; subprocess.run(\"vllm serve x\", shell=True, check=True)'",
        "`vllm`",
    ),
    "a library of CANN": (
        "echo 'ImportError: libascendcl.so: cannot open shared object file: No such file or directory'; exit 1",
        "CANN",
    ),
}
CAUGHT = "python3 -c 'import torch_npu' || true\n"
OWN_FAULT = {
    "another module": "python3 -c 'import module_of_nobody'",
    "another program": "exec program_of_nobody",
    "a missing tool that did not matter": "npu-smi || true\necho 'RuntimeError: NPU out of memory.' >&2\nexit 1",
    "an exit without a word": "exit 3",
    "a bad setting after a missing program that did not matter": "vllm --version\nexec python3 -c 'raise ValueError(1)'",
    "a bad option after it": "vllm --version\necho 'serve.py: error: unrecognized arguments: --x' >&2\nexit 2",
    "a bad setting after a missing module that did not matter": f"{CAUGHT}exec python3 -c 'raise ValueError(1)'",
    "a bad setting in its place": (
        "exec python3 -c 'try:\n import torch_npu\nexcept ImportError:\n raise ValueError(1)'"
    ),
    "a server elsewhere": f"{CAUGHT}echo 'Uvicorn running on http://0.0.0.0:OTHER'\nexec SERVER OTHER",
    "a server that answers wrongly": f"{CAUGHT}exec SERVER PORT refuses",
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
    script = OWN_FAULT[case].replace("OTHER", str(free_port()))
    with service(tmp_path, script, environment={"PATH": PLAIN}) as running:
        assert STARTS.judge(running.launch).outcome is Outcome.FAIL


def test_what_was_survived_is_not_named_as_the_cause(tmp_path: Path) -> None:
    script = "vllm --version\nexec python3 -c 'raise ValueError(\"bad setting\")'"
    with service(tmp_path, script, environment={"PATH": PLAIN}) as running:
        seen = STARTS.judge(running.launch).findings[0].seen
    assert "ValueError: bad setting" in seen
    assert "Cause: " not in seen
    assert "vllm: not found" not in seen


def test_a_program_that_is_here_and_that_the_script_loses_is_its_fault(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "vllm").write_text("#!/bin/sh\nexit 0\n")
    (folder / "vllm").chmod(0o755)
    script = "PATH=/usr/bin:/bin\nexec vllm serve x"
    with service(tmp_path, script, environment={"PATH": f"{folder}:{PLAIN}"}) as running:
        assert STARTS.judge(running.launch).outcome is Outcome.FAIL
