"""The lines that launch a model, by the planner that travels with adapters: a process, as adapters run it."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.scaffold import template
from healthcheck.system import programs
from healthcheck.system.files import prefix
from healthcheck.text.messages import msg

_FOLDER = "templates/planned"
_SAYS = "adapter: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is planned for.

    Attributes:
        weights: their folder, which may have config.json and the index alone; None if it is not at hand.
        npu: the kind; "" for both a 910B and an A3.
        npus: how many devices, as torch counts them.
        stack: the release of vllm-ascend; "" if unknown.
    """

    weights: Path | None
    npu: str
    npus: int
    stack: str = ""


def target(options: argparse.Namespace, stack: str) -> Target:
    """What the options of a command name."""
    return Target(weights=options.weights, npu=options.npu, npus=options.npus, stack=stack)


def lines(wanted: Target) -> str:
    """The launch and the variables that it needs, as lines of a POSIX shell with the reasons as comments.

    The variables ADAPTER_… of the kit's environment decide, as those of an adapter's environment do.

    Raises:
        UsageError: the weights cannot be served there, or the planner does not know the NPU.
    """
    if wanted.weights is not None and not wanted.weights.is_dir():
        raise UsageError(msg("--weights {weights} is not a folder", weights=wanted.weights))
    kind = (
        ("--npu", wanted.npu, "--release", wanted.stack)
        if wanted.npu
        else ("--release", wanted.stack)
    )
    with tempfile.TemporaryDirectory(prefix=prefix()) as nothing:
        own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        folder = str((wanted.weights or Path(nothing)).resolve())
        done = subprocess.run(
            [programs.python(), "-B", "-m", "adapter", "--script", "--npus", str(wanted.npus), *kind],
            cwd=template.template_folder() / _FOLDER, env={**own, "MODEL_PATH": folder, "PYTHONUTF8": "1"},
            capture_output=True, encoding="utf-8", errors="replace", check=False,
        )  # fmt: skip
    if done.returncode:
        said = done.stderr.strip().removeprefix(_SAYS)
        raise UsageError(
            msg("the planner refuses: {said} (--npu and --npus name the machine)", said=said)
        )
    return done.stdout.rstrip("\n")
