# ruff: noqa: INP001 - a folder of programs, no package
"""Brings the template's releases up to date with the version matrix: the final ones, and the newest as the default.

    .venv/bin/python scripts/release_template.py

It writes the choices of copier.yml and the table at the top of templates/planned/README.md.jinja;
scripts/add_release.py calls it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from healthcheck.system import files

ROOT = Path(__file__).parent.parent
OLDEST = "0.11.0"
"""The oldest release that a new repository may be for."""
OLDEST_PYTHON = "3.10"
"""What the adapter and the kit need."""
_CHOICES = re.compile(r'^  choices: \["\d[^\n]*\n  default: "[^"]*"$', re.MULTILINE)
_TABLE = re.compile(r"(?<=\{%- set rows = \{\n).*?(?=\n\} -%\})", re.DOTALL)


def bring_up_to_date(matrix: Mapping[str, Any], root: Path = ROOT) -> Iterator[str]:
    """Rewrite both files from the rows of the matrix; yields a line for each that changed."""
    rows = [row for row in matrix["rows"] if is_offered(row["vllm_ascend"])]
    releases = [row["vllm_ascend"] for row in rows]
    choices = f'  choices: {json.dumps(releases)}\n  default: "{releases[0]}"'
    table = "\n".join(
        f'  "{row["vllm_ascend"]}": ({", ".join(map(json.dumps, cells(row)))}),' for row in rows
    )
    for name, place, text in (
        ("copier.yml", _CHOICES, choices),
        ("templates/planned/README.md.jinja", _TABLE, table),
    ):
        before = (root / name).read_text("utf-8")
        after = place.sub(lambda _, text=text: text, before)  # type: ignore[misc]
        if after != before:
            files.write_atomically(root / name, after.encode())
            yield f"{name}: {', '.join(releases)}"


def is_offered(release: str) -> bool:
    return not Version(release).is_prerelease and Version(release) >= Version(OLDEST)


def cells(row: Mapping[str, Any]) -> list[str]:
    """vLLM, CANN, torch, torch-npu and Python, as the README shows them."""
    torch_npu = row["torch_npu"].partition("+")[0]
    return [row["vllm"][0], row["cann"], row["torch"], torch_npu, pythons(row["python"])]


def pythons(specifier: str) -> str:
    """The versions of Python in words: ">=3.10,<3.13" is "3.10 to 3.12"."""
    limits = {clause.operator: clause.version for clause in SpecifierSet(specifier)}
    first, end = max(limits[">="], OLDEST_PYTHON, key=Version), limits.get("<", "")
    return f"{first} to 3.{int(end.split('.')[1]) - 1}" if end else f"{first} or newer"


if __name__ == "__main__":
    matrix = json.loads((ROOT / "healthcheck" / "data" / "stacks.json").read_bytes())
    print("\n".join(bring_up_to_date(matrix)) or "nothing to do")
