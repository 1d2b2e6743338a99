"""Writes the versions of the packages in this environment without importing them. `list_versions.py ANSWER`."""

import json
import sys
from importlib import metadata
from pathlib import Path

NAMES = ("vllm", "vllm-ascend", "transformers")


def version(name: str) -> str:
    try:
        return metadata.version(name) or ""
    except metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    found = {name: version(name) for name in NAMES}
    Path(sys.argv[1]).write_text(json.dumps(found), encoding="utf-8")
