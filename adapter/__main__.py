"""The plan for MODEL_PATH on this machine: by default the arguments of `vllm serve`, quoted for a shell."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from adapter import environment
from adapter.decision import Decision, Refusal
from adapter.device import LocalSystem, Machine, described_machine, find_machine
from adapter.plan import Plan, group_of, make_plan
from adapter.script import USUAL, script
from adapter.settings import SettingsError, read_settings, unknown_variables
from adapter.weights import Weights, read_weights, size_in_words

SETTINGS_FILE = Path(__file__).resolve().parent.parent / "adapter.toml"


def main() -> int:
    """Print the requested form; returns the exit status."""
    options = _parser().parse_args()
    for remark in () if options.env else _ignored(options):  # deploy.sh runs this twice
        print(f"adapter, ignored: {remark}", file=sys.stderr)
    try:
        folder = _model_path()
        settings = read_settings(os.environ, SETTINGS_FILE)
        group = group_of(settings)
        weights = read_weights(folder)
        planned = [
            (machine, make_plan(weights, machine, settings)) for machine in _machines(options)
        ]
    except (SettingsError, Refusal) as error:
        print(f"adapter: {error}", file=sys.stderr)
        return 2
    machine, plan = planned[0]
    if options.script:
        text = script(weights, planned)
    elif options.print:
        text = _table(weights, machine, plan)
    elif options.nodes:
        text = (
            group.commands(str(folder), plan.environment)
            if group
            else "# one machine: adapter.toml names no others"
        )
    elif options.env:
        text = environment.exports(plan.environment, os.environ)
    else:
        text = shlex.join(plan.arguments())
    sys.stdout.buffer.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m adapter", description=__doc__)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--print", action="store_true", help="show every decision with its reason and source"
    )
    shown.add_argument(
        "--env", action="store_true", help="print environment variables that are absent, to be set"
    )
    shown.add_argument(
        "--nodes", action="store_true", help="print the commands for each of several machines"
    )
    shown.add_argument(
        "--script", action="store_true",
        help="print the launch as lines of a shell script with reasons, for a 910B and an A3 without --npu",
    )  # fmt: skip
    parser.add_argument(
        "--npu", metavar="CHIP", help="plan for a machine with this chip (910B4, A3, none, …)"
    )
    parser.add_argument(
        "--npus", metavar="N", type=int, help="and so many of them (default: 1; dies, on an A3)"
    )
    parser.add_argument(
        "--release", metavar="RELEASE", default="", help="of vllm-ascend on the machine of --npu"
    )
    return parser


def _ignored(options: argparse.Namespace) -> Iterator[str]:
    """Remarks on options that have no effect."""
    if options.npus is not None and not options.npu and not options.script:
        yield f"--npus {options.npus}, without --npu CHIP"
    for name in unknown_variables(os.environ):
        yield f"{name}, no setting is called so"


def _machines(options: argparse.Namespace) -> list[Machine]:
    kinds = [options.npu] if options.npu else USUAL if options.script else ()
    described = (
        described_machine(kind, 1 if options.npus is None else options.npus) for kind in kinds
    )
    return [replace(each, release=options.release) for each in described] or [
        find_machine(LocalSystem())
    ]


def _model_path() -> Path:
    path = os.environ.get("MODEL_PATH", "")
    if not path:
        raise SettingsError("MODEL_PATH is not set: export MODEL_PATH=/folder/of/the/weights")
    if not os.path.isdir(path):
        raise SettingsError(f"MODEL_PATH is not a folder: {path}")
    return Path(path)


def _table(weights: Weights, machine: Machine, plan: Plan) -> str:
    devices = (
        f"{machine.devices} × {machine.chip or 'NPU of unknown kind'}"
        if machine.devices
        else "no NPU"
    )
    head = (
        f"weights  {weights.path}",
        f"         {weights.architecture or 'architecture unknown'}, {size_in_words(weights.total_bytes)}",
        f"machine  {devices} ({machine.source})",
        *(f"note     {remark}" for remark in plan.remarks),
    )
    return "\n".join(
        (
            *head,
            "",
            *_rows("option", plan.options),
            "",
            *_rows("variable, if unset", plan.environment),
        )
    )


def _rows(title: str, decisions: tuple[Decision, ...]) -> list[str]:
    rows = [(title, "value", "why", "source")]
    for decision in decisions:
        value = "(vLLM's default)" if decision.value is None else decision.value
        text = shlex.join(value) if isinstance(value, tuple) else str(value)
        rows.append((decision.key, text, decision.why, decision.source))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return ["  ".join((*map(str.ljust, row, widths), row[3])) for row in rows]


if __name__ == "__main__":
    sys.exit(main())
