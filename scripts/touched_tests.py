# ruff: noqa: INP001 - scripts are no package
"""Lists the tests of real engines and other tools that a change needs, with their environments.

    python3 scripts/touched_tests.py BASE            one line: the environments, a colon, the files of tests
    python3 scripts/touched_tests.py --all

The main job on the real vLLM is in every run of CI and not listed here; `make test-all` runs everything.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """Tests, the environments of the Makefile that they need, and the paths whose change needs them."""

    tests: str
    environments: str
    paths: str


TABLE = (
    Row(
        "tests/engine/test_real_servers.py tests/engine/test_fronts.py",
        "vllm vllm-0.23 litellm",
        "healthcheck/wire healthcheck/stages/endpoint",
    ),
    Row(
        "tests/engine/test_launch_failures.py",
        "vllm",
        "healthcheck/stages/service healthcheck/data/failures.yaml",
    ),
    Row("tests/extensions/numerics", "vllm litellm", "healthcheck/extensions/numerics"),
    Row("tests/extensions/features", "vllm", "healthcheck/extensions/features"),
    Row(
        "tests/plan/test_vllm_parsers.py",
        "vllm vllm-0.23",
        "healthcheck/stages/plan/vllm_cli healthcheck/data/vllm-",
    ),
    Row("tests/weights", "vllm", "healthcheck/stages/weights healthcheck/data/architectures.json"),
    Row("tests/peer", "vllm transformers", "healthcheck/wire healthcheck/stages/endpoint/checks"),
    Row(
        "tests/probe/aisbench tests/extensions/service_report tests/wire",
        "aisbench",
        "healthcheck/stages/probe/aisbench healthcheck/extensions/service_report healthcheck/wire",
    ),
    Row("tests/extensions/fleet", "vllm fleet", "healthcheck/extensions/fleet"),
)


def asked_for(changed: Iterable[str]) -> list[Row]:
    """The rows for a change of these paths."""
    return [
        row for row in TABLE if any(path.startswith(tuple(row.paths.split())) for path in changed)
    ]


def changed_since(base: str) -> list[str]:
    command = ["git", "diff", "--name-only", base, "HEAD"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def main(base: str) -> None:
    rows = TABLE if base == "--all" else asked_for(changed_since(base))
    environments = dict.fromkeys(name for row in rows for name in row.environments.split())
    tests = dict.fromkeys(path for row in rows for path in row.tests.split())
    print(*environments, ":", *tests)


if __name__ == "__main__":
    main(sys.argv[1])
