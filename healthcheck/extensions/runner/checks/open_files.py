"""runner/open-files: enough files may be open."""

from __future__ import annotations

from healthcheck.core.check import Findings, warn
from healthcheck.extensions.runner.declared import check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg

OPEN_FILES = 65535
"""vLLM raises its own limit to this, if the hard limit allows it."""


@check(
    "runner/open-files",
    "The limit of open files is high enough",
    why="Each connection and each worker's pipe is an open file.",
)
def open_files(facts: RunnerFacts) -> Findings:
    """VLLM raises its soft limit of open files to 65535, if the hard limit allows it. A lower hard limit warns:
    many concurrent streams then end with "Too many open files".

    To repair: docker run --ulimit nofile=65535:65535; on a host /etc/security/limits.conf.

    Example:
    ```console
    $ docker run --ulimit nofile=4096:4096 IMAGE npu-adapter runner
    ```

    Use instead:

    ```console
    $ docker run --ulimit nofile=65535:65535 IMAGE npu-adapter runner
    ```
    """
    hard = facts.host.open_files
    if hard is not None and hard < OPEN_FILES:
        expected = msg("a hard limit of {open_files} open files", OPEN_FILES)
        fix = msg("docker run --ulimit nofile={open_files}:{open_files}", OPEN_FILES)
        yield warn(expected=expected, seen=str(hard), fix=fix, where="ulimit -Hn")
