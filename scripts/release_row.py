# ruff: noqa: INP001 - scripts are no package
"""Reads the files of an unpacked release: a row of the version matrix, and the requirements of vLLM.

Only envs.py of vllm-ascend is executed, in a process of its own.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from email.message import Message
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

COLUMNS = ("torch", "torch-npu", "triton-ascend")
"""Requirements with a column of their own in the matrix."""
BUILD_TOOLS = ("cmake", "pip", "pybind11", "setuptools", "setuptools-scm", "wheel")
CUDA = re.compile(
    r"^(torch|torchaudio|torchvision|torchcodec|flashinfer-.*|nvidia-.*|apache-tvm-ffi|xformers|cupy-.*)$"
)
"""Requirements of the index's vLLM for CUDA; the image has none of them, or other versions."""
POLICY = "docs/source/community/versioning_policy.md"
_RAY = re.compile(r"\bray(?:\[[\w,]*\])?((?:[<>=!~]=?[\d.]+,?)+)")
_CANN = (
    re.compile(r'^ARG CANN_VERSION="?(\d[\w.]*?)(?:_\d+)?"?$', re.MULTILINE),
    re.compile(r"^FROM \S*cann:(\d[\w.]*)-", re.MULTILINE),
)
_VLLM = re.compile(r"^ARG VLLM_TAG=v?([\w.]+)", re.MULTILINE)
OWN_VARIABLE = re.compile(r"VLLM_ASCEND_[A-Z0-9_]+")
ASKER = Path(__file__).with_name("make_variable_catalogue.py")
_COMMIT = re.compile(r"commit_id = 'g([0-9a-f]+)'")
Row = dict[str, object]


def published(tree: Path) -> Mapping[str, Row] | None:
    """The compatibility table in the documents of a release, by release; None if there is none."""
    path = tree / POLICY
    if not path.is_file():
        return None
    return dict(_lines(path.read_text("utf-8")))


def _lines(text: str) -> Iterator[tuple[str, Row]]:
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 6 or not re.fullmatch(r"v\d[\w.]*", cells[0]):
            continue
        torch, _, torch_npu = cells[4].partition("/")
        yield (
            cells[0][1:],
            {
                "vllm": [version.strip().removeprefix("v") for version in cells[1].split("/")],
                "python": cells[2].replace(" ", ""),
                "cann": cells[3],
                "torch": torch.strip(),
                "torch_npu": torch_npu.strip(),
                "triton_ascend": "" if cells[5] == "N/A" else cells[5],
            },
        )


def read_row(tree: Path, metadata: Message, table: Mapping[str, Row] | None) -> Row:
    """The row of a vllm-ascend release; None for values that neither its files nor the table state."""
    version = str(metadata["Version"])
    required = dict(requirements(metadata) if "Requires-Dist" in metadata else _own_list(tree))
    pins = {
        name: specifier.removeprefix("==")
        for name, specifier in required.items()
        if name in COLUMNS
    }
    image = _text(tree / "Dockerfile")
    vllm, ray = _VLLM.search(image), _RAY.search(image)
    requires = {name: specifier for name, specifier in required.items() if specifier}
    requires |= {"ray": ray[1]} if ray else {}
    commit = _COMMIT.search(_text(tree / "vllm_ascend" / "_version.py"))
    return {
        "vllm_ascend": version,
        "vllm": [vllm[1]] if vllm else None,
        "python": metadata["Requires-Python"],
        "cann": _cann(image),
        "torch": pins.get("torch"),
        "torch_npu": pins.get("torch-npu"),
        "triton_ascend": pins.get("triton-ascend", ""),
        **(table or {}).get(version, {}),
        "requires": {
            name: requires[name] for name in sorted(requires) if name not in {*COLUMNS, *BUILD_TOOLS}
        },
        "variables": variables(tree / "vllm_ascend"),
        "accepts": accepted_values(tree / "vllm_ascend" / "envs.py"),
        "documented": None if table is None else version in table,
        "commit": commit[1] if commit else None,
    }  # fmt: skip


def requirements(metadata: Message) -> Iterator[tuple[str, str]]:
    """A release's unconditional requirements: normalised names and specifiers, without extras and markers."""
    yield from _unconditional(metadata.get_all("Requires-Dist", []))


def _own_list(tree: Path) -> Iterator[tuple[str, str]]:
    """The requirements.txt of a release: older sdists do not have them in their metadata."""
    lines = (
        line.partition("#")[0].strip() for line in _text(tree / "requirements.txt").splitlines()
    )
    yield from _unconditional(line for line in lines if line and not line.startswith("-"))


def _unconditional(requirements: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in requirements:
        each = Requirement(text)
        if each.marker is None:
            yield canonicalize_name(each.name), str(each.specifier)


def vllm_requirements(metadata: Message) -> dict[str, str]:
    """The requirements of a vLLM release that have a version, except those for CUDA."""
    said = {name: specifier for name, specifier in requirements(metadata) if specifier}
    return {name: said[name] for name in sorted(said) if not CUDA.match(name)}


def variables(package: Path) -> list[str]:
    """The environment variables that vllm-ascend reads: those of envs.py, and its own wherever they occur."""
    declared = {
        key.value
        for name in ("env_variables", "environment_variables")
        for value in _assigned(package / "envs.py", name)
        if isinstance(value, ast.Dict)
        for key in value.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    trees = (ast.parse(path.read_bytes()) for path in package.rglob("*.py"))
    named = (
        node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)
    )
    return sorted(
        declared
        | {word for word in named if isinstance(word, str) and OWN_VARIABLE.fullmatch(word)}
    )


def accepted_values(envs: Path) -> dict[str, object]:
    """What the variables of an envs.py accept that refuse anything, by the answers of its own functions."""
    if not envs.is_file():
        return {}
    done = subprocess.run(
        [sys.executable, "-I", ASKER, envs], capture_output=True, text=True, check=True
    )
    answers: dict[str, object] = json.loads(done.stdout)
    return {name: entry for name, entry in answers.items() if entry}


def _assigned(path: Path, name: str) -> Iterator[ast.expr]:
    """The values that are assigned to a name anywhere in a module; nothing is imported."""
    for node in ast.walk(ast.parse(path.read_bytes() if path.is_file() else b"")):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield node.value


def _cann(image: str) -> str | None:
    found = (pattern.search(image) for pattern in _CANN)
    return next((match[1] for match in found if match), None)


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def matrix_text(matrix: Mapping[str, object]) -> str:
    """The text of stacks.json, with one row per line, so that a difference is easy to review."""
    parts = [f" {json.dumps(name)}: {_block(value)}" for name, value in matrix.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _block(value: object) -> str:
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {json.dumps(each)}" for each in value) + "\n ]"
    if isinstance(value, dict):
        return (
            "{\n"
            + ",\n".join(
                f"  {json.dumps(name)}: {json.dumps(each)}" for name, each in value.items()
            )
            + "\n }"
        )
    return json.dumps(value)
