"""Programs for the machine's own Python: they import the standard library, `shared` and the packages to try.

The kit never imports them. Each prints lines that begin with MARK (`@npu-adapter `), one JSON object per step, so
that a crash or a hang shows the last step.
"""

from pathlib import Path

_HERE = Path(__file__).parent
TORCH = _HERE / "torch_probe.py"
HCCL = _HERE / "hccl_probe.py"
PAIRS = _HERE / "pairs_probe.py"
OPERATORS = _HERE / "operators_probe.py"
SOAK = _HERE / "soak_probe.py"
