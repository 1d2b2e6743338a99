"""Python and the table of the server's imports agree on which standard modules a working directory can hide."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from healthcheck.stages.plan.calls import SERVER_IMPORTS
from healthcheck.system.files import DATA

TABLE = json.loads((DATA / SERVER_IMPORTS).read_bytes())


def _is_hidden(name: str, folder: Path) -> bool:
    """Whether `python -m` imports a file of the working directory in place of a standard module, or fails with it."""
    folder.mkdir()
    (folder / f"{name}.py").write_text("HIDDEN = True\n")
    (folder / "own_program.py").write_text(
        f"import {name} as module\nraise SystemExit(hasattr(module, 'HIDDEN'))\n"
    )
    command = [sys.executable, "-S", "-m", "own_program"]
    return (
        subprocess.run(command, cwd=folder, env={}, capture_output=True, check=False).returncode
        != 0
    )


@pytest.mark.process
@pytest.mark.slow
def test_python_imports_from_the_working_directory_what_the_table_has(tmp_path: Path) -> None:
    certain = sorted(TABLE["certain"].keys() & sys.stdlib_module_names)
    first = [name for name in TABLE["loaded_first"] if not name.startswith("_")]
    builtin = {*sys.builtin_module_names}
    with ThreadPoolExecutor(max_workers=2) as pool:
        hidden = dict(
            zip(
                [*certain, *first],
                pool.map(lambda name: _is_hidden(name, tmp_path / name), [*certain, *first]),
                strict=True,
            )
        )
    assert [name for name in certain if not hidden[name] and name not in builtin] == []
    assert [name for name in first if hidden[name]] == []
    assert len(certain) > 20
    assert len(first) > 10


def test_the_table_has_the_packages_of_the_server() -> None:
    assert {"openai", "fastapi", "pydantic", "torch", "transformers", "numpy", "PIL"} <= TABLE[
        "certain"
    ].keys()
    assert ".types" in TABLE["certain"]["openai"]
    assert not {"os", "sys", "time", "test", "vllm"} & {*TABLE["certain"], *TABLE["possible"]}
