"""Make small real weights on the spot: a Qwen3 of 4.6 M parameters that has learnt the probe's word problems.

    .venv-vllm/bin/python examples/tiny_lm/make_weights.py --cache .cache/weights

What it has learnt is kept in trained.safetensors, 1.1 MB. That was trained from scratch, in two minutes on one core
and deterministically from a seed, by

    .venv-vllm/bin/python examples/tiny_lm/make_weights.py --cache .cache/weights --steps 520 \\
        --keep examples/tiny_lm/trained.safetensors

Prints the folder of the weights. Its name is a digest of everything that they depend on (these sources, what is
kept, the problems, the options, torch's version), so a second call finds them there. Needs torch and transformers:
the environment of examples/cpu_engine has both.
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
KEPT = HERE / "trained.safetensors"
LIBRARIES = ("torch", "transformers", "tokenizers")
sys.path[:0] = [str(HERE), str(ROOT)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument(
        "--steps",
        type=int,
        default=0,
        help="train anew, for so many steps; fewer make worse weights",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write what was learnt to this file as well"
    )
    options = parser.parse_args()
    folder = options.cache / f"tiny-qwen3-{digest(options.steps, options.seed)}"
    if options.keep or not (folder / "model.safetensors").is_file():
        make(folder, options)
    print(folder)
    return 0


def make(folder: Path, options: argparse.Namespace) -> None:
    from kept import keep, load, write  # noqa: PLC0415 - torch takes seconds, and cached weights need none of it
    from training import train  # noqa: PLC0415

    learnt = train(options.steps, options.seed) if options.steps else load(KEPT, options.seed)
    if options.keep:
        with_what = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
        keep(
            options.keep,
            *learnt,
            made=f"--steps {options.steps} --seed {options.seed}, {with_what}",
        )
    if not folder.exists():
        half = folder.with_name(f"{folder.name}.half-{os.getpid()}")
        write(half, *learnt)
        half.rename(folder)


def digest(steps: int, seed: int) -> str:
    """What the weights depend on, in sixteen hex digits."""
    problems = ROOT / "healthcheck" / "stages" / "probe" / "problems"
    sources = sorted([*HERE.glob("*.py"), *problems.glob("*.py")]) + ([] if steps else [KEPT])
    ingredients = {
        "sources": [hashlib.sha256(path.read_bytes()).hexdigest() for path in sources],
        "versions": [sys.version, *map(version, LIBRARIES)],
        "options": [steps, seed],
    }
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:16]


if __name__ == "__main__":
    raise SystemExit(main())
