"""Make relatives of the small weights: a mixture of experts, a hybrid, and three that are trained on.

    .venv-vllm/bin/python examples/tiny_variants/make_weights.py moe --cache .cache/weights

Trains the small weights of examples/tiny_lm where the cache has none yet. `moe` and `hybrid` compute what those do,
in another architecture; `thinking` (aloud), `calling` (tools) and `finding` (a number in a long text) are trained
on for a minute or two. Prints the folder of the weights, whose name is a digest of everything that they depend on.
Needs torch and transformers: the environment of examples/cpu_engine.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
DENSE = HERE.parent / "tiny_lm"
TRAINED_ON = ("thinking", "calling", "finding")
KINDS = {"moe": "qwen3-moe", "hybrid": "lfm2"} | {kind: f"qwen3-{kind}" for kind in TRAINED_ON}
sys.path[:0] = [str(HERE), str(DENSE), str(HERE.parent.parent)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--cache", type=Path, required=True)
    options = parser.parse_args()
    dense = subprocess.run(
        [sys.executable, DENSE / "make_weights.py", "--cache", options.cache],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout.strip()  # fmt: skip
    folder = options.cache / f"tiny-{KINDS[options.kind]}-{digest(Path(dense))}"
    if not (folder / "model.safetensors").is_file():
        from variants import write  # noqa: PLC0415 - torch takes seconds, and cached weights need none of it

        half = folder.with_name(f"{folder.name}.half-{os.getpid()}")
        write(options.kind, Path(dense), half)
        half.rename(folder)
    print(folder)
    return 0


def digest(dense: Path) -> str:
    """What the weights depend on, in sixteen hex digits; the name of the dense ones holds the rest."""
    sources = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(HERE.glob("*.py"))]
    return hashlib.sha256(json.dumps([dense.name, *sources]).encode()).hexdigest()[:16]


if __name__ == "__main__":
    raise SystemExit(main())
