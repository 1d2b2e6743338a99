"""A command that is started in a hostile folder imports nothing from it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repositories import GOOD_SCRIPT, repository

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
NAMES = (
    "json", "healthcheck", "sitecustomize", "usercustomize", "re", "os", "runpy", "subprocess", "tempfile", "socket",
    "ctypes", "yaml", "jinja2", "packaging", "msgspec", "psutil", "rich", "requests", "argparse", "_sitebuiltins",
    "encodings", "dataclasses", "resource", "typing",
)  # fmt: skip
BY_PYTHON_ITSELF = {"sitecustomize", "usercustomize", "healthcheck", "re"}
"""With an empty entry of PYTHONPATH, Python and the script that pip writes import these before the kit begins."""
CONFIG = '{"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "max_position_embeddings": 2048}'
TOKENIZER = (
    '{"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}", "eos_token": "<e>"}'
)


def hostile(folder: Path, names: tuple[str, ...], marks: Path) -> dict[str, str]:
    """Modules that leave a mark when they are imported."""
    marks.mkdir(exist_ok=True)
    text = "import builtins\nbuiltins.open({!r}, 'w').close()\nraise SystemExit(77)\n"
    return {f"{name}.py": text.format(str(marks / name)) for name in names} | {
        "git": f"#!/bin/sh\n: > {marks / 'git'}\n",
        "bash": f"#!/bin/sh\n: > {marks / 'bash'}\n",
        "sh": f"#!/bin/sh\n: > {marks / 'sh'}\n",
        "python3": f"#!/bin/sh\n: > {marks / 'python3'}\n",
    }


def weights(folder: Path, more: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in {"config.json": CONFIG, "tokenizer_config.json": TOKENIZER, **more}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755 if text.startswith("#!") else 0o644)
    return folder


def verify(
    command: tuple[str, ...], cwd: Path, root: Path, weights: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = ("verify", str(root), "--weights", str(weights), "--until", "weights", "--quiet")
    return subprocess.run(
        (*command, *words), cwd=cwd, env={**kept, **variables}, capture_output=True, text=True, timeout=300, check=False
    )  # fmt: skip


WAYS = {
    "console script": ((str(Path(sys.executable).with_name("npu-adapter")),), {}, set()),
    "isolated module": (
        (sys.executable, "-I", "-m", "healthcheck"),
        {"PYTHONPATH": ":/nonexistent:"},
        set(),
    ),
    "safe path": ((sys.executable, "-P", "-m", "healthcheck"), {}, set()),
    "entry, empty PYTHONPATH entry": (
        (sys.executable, "-c", "from healthcheck.__main__ import main; raise SystemExit(main())"),
        {"PYTHONPATH": f"{ROOT}:/nonexistent:"},
        BY_PYTHON_ITSELF,
    ),
    "a dot on PATH": (
        (str(Path(sys.executable).with_name("npu-adapter")),),
        {"PATH": f".::{os.environ['PATH']}"},
        set(),
    ),
}


@pytest.mark.parametrize(
    ("way", "inside"),
    [
        pytest.param(way, inside, marks=() if (number + at) % 2 == 0 else pytest.mark.slow)
        for number, way in enumerate(WAYS)
        for at, inside in enumerate(("repository", "weights"))
    ],
)
def test_nothing_of_the_callers_folder_is_run(way: str, inside: str, tmp_path: Path) -> None:
    command, variables, not_ours = WAYS[way]
    if command[1:2] == ("-P",) and sys.version_info < (3, 11):
        pytest.skip("-P is of Python 3.11")
    names = tuple(name for name in NAMES if name not in not_ours)
    if "-c" in command:  # Python resolves the command's module there before the kit can refuse
        names = tuple(
            name
            for name in names
            if name not in sys.stdlib_module_names or name in {"json", "socket"}
        )
    marks = tmp_path / "marks"
    files = hostile(tmp_path, names, marks)
    root = repository(
        tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, **(files if inside == "repository" else {})}
    )
    folder = weights(tmp_path / "w", files if inside == "weights" else {})
    done = verify(command, root if inside == "repository" else folder, root, folder, **variables)
    assert sorted(path.name for path in marks.iterdir()) == []
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    assert "plan/" in done.stdout or "Verdict" in done.stdout
