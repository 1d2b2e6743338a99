"""Make a small vision-language model on the spot: an Idefics3 of 0.2 M random parameters.

    .venv-vllm/bin/python examples/tiny_vlm/make_weights.py --cache .cache/weights [--seed 0]

It has learnt nothing: its answers are noise, over a correct protocol, and depend on the picture. Prints the folder
of the weights, whose name is a digest of everything that they depend on, so that a second call finds them there.
Needs torch, transformers and pillow: the environment of examples/cpu_engine has them. Idefics3, since vLLM serves
it without torchvision.
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
sys.path.insert(0, str(HERE))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.cache / f"tiny-idefics3-{digest(options.seed)}"
    if not (folder / "model.safetensors").is_file():
        from random_model import write  # noqa: PLC0415 - torch takes seconds, and cached weights need none of it

        half = folder.with_name(f"{folder.name}.half-{os.getpid()}")
        write(half, seed=options.seed)
        half.rename(folder)
    print(folder)
    return 0


def digest(seed: int) -> str:
    """What the weights depend on, in sixteen hex digits."""
    ingredients = {
        "sources": [
            hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(HERE.glob("*.py"))
        ],
        "versions": [version(name) for name in ("torch", "transformers", "tokenizers")],
        "options": [seed],
    }
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:16]


if __name__ == "__main__":
    raise SystemExit(main())
