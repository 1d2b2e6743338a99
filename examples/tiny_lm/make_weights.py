"""Make small real weights on the spot: a Qwen3 of 4.6 M parameters that has learnt the probe's word problems.

    .venv-vllm/bin/python examples/tiny_lm/make_weights.py --cache .cache/weights [--steps 520]

Trains from scratch on one core, deterministically from a seed, and prints the folder of the weights. The folder's
name is a digest of everything that they depend on (these sources, the problems, the options, torch's version), so a
second call finds them there. Needs torch and transformers: the environment of examples/cpu_engine has both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=520, help="training steps; fewer make worse weights")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.cache / f"tiny-qwen3-{digest(options.steps, options.seed)}"
    if not (folder / "model.safetensors").is_file():
        from training import train  # noqa: PLC0415 - torch takes seconds, and cached weights need none of it

        half = folder.with_name(f"{folder.name}.half-{os.getpid()}")
        train(half, steps=options.steps, seed=options.seed)
        half.rename(folder)
    print(folder)
    return 0


def digest(steps: int, seed: int) -> str:
    """What the weights depend on, in sixteen hex digits."""
    sources = sorted([*HERE.glob("*.py"), *(ROOT / "healthcheck" / "probe" / "problems").glob("*.py")])
    ingredients = {
        "sources": [hashlib.sha256(path.read_bytes()).hexdigest() for path in sources],
        "versions": [sys.version, *(version(name) for name in ("torch", "transformers", "tokenizers"))],
        "options": [steps, seed],
    }
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:16]


if __name__ == "__main__":
    raise SystemExit(main())
