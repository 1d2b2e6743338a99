"""`python3 -m adapter` prints the arguments of `vllm serve` for MODEL_PATH, quoted for the shell."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from adapter.device import LocalSystem, Machine, find_machine
from adapter.plan import Decision, make_plan
from adapter.settings import SettingsError, read_settings
from adapter.weights import Weights, read_weights

SETTINGS_FILE = Path(__file__).resolve().parent.parent / "adapter.toml"


def main() -> int:
    """Print the plan; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m adapter", description=__doc__)
    parser.add_argument("--print", action="store_true", dest="as_table", help="the plan as a table, with reasons")
    options = parser.parse_args()
    try:
        folder = _model_path()
        settings = read_settings(os.environ, SETTINGS_FILE)
    except SettingsError as error:
        print(f"adapter: {error}", file=sys.stderr)
        return 2
    weights, machine = read_weights(folder), find_machine(LocalSystem())
    plan = make_plan(weights, machine, settings)
    if options.as_table:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        print(_table(weights, machine, plan))
    else:
        print(shlex.join(argument for decision in plan for argument in decision.arguments()))
    return 0


def _model_path() -> Path:
    path = os.environ.get("MODEL_PATH", "")
    if not path:
        raise SettingsError("MODEL_PATH is not set: export MODEL_PATH=/folder/of/the/weights")
    if not os.path.isdir(path):
        raise SettingsError(f"MODEL_PATH is no folder: {path}")
    return Path(path)


def _table(weights: Weights, machine: Machine, plan: tuple[Decision, ...]) -> str:
    rows = [("option", "value", "why", "source")]
    for decision in plan:
        value = "(vLLM's default)" if decision.value is None else decision.value
        text = shlex.join(value) if isinstance(value, tuple) else str(value)
        rows.append((decision.key, text, decision.why, decision.source))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ["  ".join((*map(str.ljust, row, widths), row[3])) for row in rows]
    devices = f"{machine.devices} × {machine.chip or 'NPU of unknown kind'}" if machine.devices else "no NPU"
    head = (
        f"weights  {weights.path}",
        f"         {weights.architecture or 'architecture unknown'}, {weights.total_bytes / 1e9:.2f} GB",
        f"machine  {devices} ({machine.source})",
        *(f"note     {remark}" for remark in weights.remarks),
        "",
    )
    return "\n".join((*head, *lines))


if __name__ == "__main__":
    sys.exit(main())
