"""Settings that a repository wants of every verification, and what the report says of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.stages.repo.settings import read_settings
from tests.support.repositories import GOOD_SCRIPT, repository
from tests.support.template import ROOT

WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"
WRONG_PORT = GOOD_SCRIPT.replace("8000", "8001")
SETTINGS = """
[tool.npu-adapter]
stack = "0.18.0"
npu = "910B4"
[tool.npu-adapter.skip]
"plan/port" = "a proxy of ours maps it"
"""


def verified(root: Path, tmp_path: Path, *words: str) -> tuple[int, dict]:
    file = tmp_path / "report.json"
    command = [
        "verify",
        str(root),
        "--weights",
        str(WEIGHTS),
        "--until",
        "plan",
        "--quiet",
        "--json",
        str(file),
    ]
    return main([*command, *words]), json.loads(file.read_bytes())


@pytest.mark.process
def test_a_check_is_left_out_with_its_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": WRONG_PORT, "pyproject.toml": SETTINGS})
    status, report = verified(root, tmp_path)
    assert status == 0
    (port,) = (check for check in report["checks"] if check["id"] == "plan/port")
    assert (port["outcome"], port["detail"]) == (
        "skip",
        "skipped on request (pyproject.toml: a proxy of ours maps it)",
    )
    assert "skipped on request: plan/port" in report["headline"]
    assert report["provenance"]["settings"] == "pyproject.toml"
    status, report = verified(root, tmp_path, "--no-settings")
    assert status == 1
    assert "settings" not in report["provenance"]


@pytest.mark.process
@pytest.mark.parametrize("asked", ["option", "settings"])
def test_warnings_are_failures_if_they_are_asked_to_be(asked: str, tmp_path: Path) -> None:
    strict = "[tool.npu-adapter]\nstrict = true\n" if asked == "settings" else ""
    root = repository(
        tmp_path / "r",
        {"deploy.sh": GOOD_SCRIPT, "requirements.txt": "einops\n", "pyproject.toml": strict},
    )
    words = ["--strict"] if asked == "option" else []
    status, report = verified(root, tmp_path, "--until", "repo", *words)
    assert (status, report["verdict"]) == (1, "not-ready")
    assert "repo/requirements-stack" in report["headline"]
    assert "--strict" in report["headline"]
    assert verified(root, tmp_path, "--until", "repo", "--no-settings")[0] == 0


@pytest.mark.process
def test_options_win(tmp_path: Path) -> None:
    root = repository(
        tmp_path / "r",
        {"deploy.sh": GOOD_SCRIPT, "adapter.toml": '[npu-adapter]\nstack = "nine"\n'},
    )
    command = ["verify", str(root), "--weights", str(WEIGHTS), "--until", "repo", "--quiet"]
    assert main(command) == 2
    assert main([*command, "--stack", "0.23.0"]) == 0


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    (tmp_path / "adapter.toml").write_text('dtype = "float16"\n')
    assert read_settings(tmp_path).file == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.npu-adapter]\nstak = '0.18.0'", "stak is not known.*did you mean stack"),
        ("[tool.npu-adapter]\nstack = 18", "stack is 18, not a text"),
        ("[tool.npu-adapter]\nnpus = '8'", "npus is '8', not a whole number"),
        (
            "[tool.npu-adapter]\nskip = ['plan/port']",
            "skip is a table of checks with their reasons",
        ),
        ("[tool.npu-adapter.skip]\n'plan/port' = ' '", "plan/port is left out without a reason"),
        ("[tool]\nnpu-adapter = 1", "is not a table"),
    ],
)
def test_a_slip_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(UsageError, match=said):
        read_settings(tmp_path)


CONFLICT = """dtype = "float16"
<<<<<<< HEAD
max_model_len = 512
=======
max_model_len = 1024
>>>>>>> the template 0.2.0

[npu-adapter]
task = "rerank"
"""


@pytest.mark.process
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize(
    ("name", "text", "line", "quoted", "fix"),
    [
        ("adapter.toml", CONFLICT, 2, "<<<<<<< HEAD", "<<<<<<<"),
        ("adapter.toml", "dtype = \nnpus = 2\n", 1, "dtype =", "adapter.toml"),
        ("adapter.toml", "# ok\nextra_args = [\n", 2, "extra_args = [", "adapter.toml"),
        (
            "pyproject.toml",
            "[tool.npu-adapter]\nstack = ‘0.18.0’\n",
            2,
            "‘0.18.0’",
            "pyproject.toml",
        ),
        ("pyproject.toml", "[tool]\na = " + "1" * 5000, 2, "1111", "pyproject.toml"),
        ("pyproject.toml", "[tool]\n" + "a." * 2000 + "a = 1", 2, "a.a.a", "pyproject.toml"),
    ],
)
def test_a_file_that_is_no_toml_is_a_finding_with_its_line(
    name: str, text: str, line: int, quoted: str, fix: str, committed: bool, language: str,
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("NPU_ADAPTER_LANG", language)
    root = repository(
        tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, **({name: text} if committed else {})}
    )
    (root / name).write_text(text, encoding="utf-8")
    status, report = verified(root, tmp_path, "--until", "repo")
    assert status == 1
    (check,) = (check for check in report["checks"] if check["outcome"] == "fail")
    assert check["id"] == "repo/settings-parse"
    assert f"({name}:{line})" in check["detail"]
    assert quoted in check["detail"]
    assert "unknown" in check["detail"], "what the file would have set is unknown"
    assert fix in check["fix"]
    said = capsys.readouterr().out
    assert f"{name}:{line}" in said
    assert quoted in said
    assert verified(root, tmp_path, "--until", "repo", "--no-settings")[0] == 0


@pytest.mark.process
def test_the_conflict_of_an_update_is_named_as_one(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, "adapter.toml": CONFLICT})
    _, report = verified(root, tmp_path, "--until", "repo")
    (check,) = (check for check in report["checks"] if check["outcome"] == "fail")
    assert "conflict" in check["detail"]
    assert "task" in check["detail"]


def test_two_files_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "adapter.toml").write_text("[npu-adapter]\n")
    with pytest.raises(UsageError, match="keep one of them"):
        read_settings(tmp_path)


def test_a_check_that_does_not_exist_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.npu-adapter.skip]\n"plan/prot" = "x"\n')
    assert main(["verify", str(tmp_path), "--until", "repo"]) == 2
    assert "did you mean plan/port" in capsys.readouterr().err


@pytest.mark.process
def test_the_adapter_leaves_the_table_to_the_verifier(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "adapter", tmp_path / "adapter", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "adapter.toml").write_text('max_model_len = 512\n[npu-adapter]\nstack = "0.23.0"\n')
    done = subprocess.run(
        [sys.executable, "-m", "adapter", "--print"], cwd=tmp_path, env={"MODEL_PATH": str(WEIGHTS), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "npu-adapter" not in done.stderr
    assert "adapter.toml" in done.stdout, done.stderr
