"""`npu-adapter diagnose`, as a user runs it."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess

import pytest

from healthcheck.cli import main

LOG = """\
INFO 11-21 08:49:08 [api_utils.py:286] non-default args
(Worker pid=3) ERROR 11-21 08:49:21 [w.py:1] RuntimeError: NPU out of memory. Tried to allocate 11.50 GiB
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""


def test_a_known_failure_is_printed_with_line_cause_fix_and_source(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log, out = tmp_path / "log", tmp_path / "out.json"
    log.write_text(LOG)
    assert main(["diagnose", str(log), "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    for part in (
        "npu-oom",
        "fix:",
        "--max-model-len",
        "source:",
        "      2  RuntimeError: NPU out of memory",
        "engine-core-failed",
    ):
        assert part in printed
    record = json.loads(out.read_text())
    assert (record["cause"]["id"], record["cause"]["matches"][0]["line"]) == ("npu-oom", 2)
    assert [other["id"] for other in record["others"]] == ["engine-core-failed"]


def test_a_kind_says_that_it_is_no_more_and_shows_the_whole_error(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log").write_text(
        "Traceback (most recent call last):\n"
        '  File "/srv/wheel.py", line 7, in forward\n'
        "    assert isinstance(wheel, dict)\n"
        "AssertionError\n"
    )
    assert main(["diagnose", "log", "--json", "out.json"]) == 0
    printed = capsys.readouterr().out
    for part in (
        "only what the last error of log says",
        "kind-assertion",
        "the last error block:",
        "wheel.py",
    ):
        assert part in printed
    record = json.loads((tmp_path / "out.json").read_text())
    assert (record["cause"], record["kind"]["id"]) == (None, "kind-assertion")


def test_the_fix_names_the_settings_of_the_repository_and_no_variable_that_is_set(
    tmp_path, capsys, monkeypatch
):
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "adapter.toml").write_text("# tensor_parallel_size = 4\n# max_model_len = 32768\n")
    (tmp_path / "deploy.sh").write_text("export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True\n")
    monkeypatch.chdir(tmp_path)
    assert main(["diagnose", "log"]) == 0
    printed = capsys.readouterr().out
    assert "In adapter.toml, set tensor_parallel_size or max_model_len" in printed
    assert "PYTORCH_NPU_ALLOC_CONF" not in printed


@pytest.mark.process
@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("prefix", ["", "exec ", "nohup "])
def test_a_program_that_no_shell_finds_is_known(tmp_path, capsys, shell, prefix):
    """What the kit's own deploy.log holds after a launch on a machine without vLLM."""
    script, log = tmp_path / "deploy.sh", tmp_path / "deploy.log"
    script.write_text(f'set -e\n{prefix}vllm serve "$MODEL_PATH"\n')
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in (shell, "nohup"):
        (programs / name).symlink_to(shutil.which(name))
    with log.open("wb") as output:
        subprocess.run(
            [shell, "deploy.sh"], cwd=tmp_path, env={"PATH": str(programs)}, stderr=output, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    assert main(["diagnose", str(log)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("command-not-found")
    assert "--until weights" in printed


def test_an_unknown_failure_shows_the_last_error_block(tmp_path, capsys):
    log = tmp_path / "log"
    log.write_text(
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\nOddError: no idea\n'
    )
    assert main(["diagnose", str(log)]) == 3
    assert "OddError: no idea" in capsys.readouterr().out


def test_standard_input_is_read(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LOG.encode())))
    assert main(["diagnose", "-"]) == 0
    assert "npu-oom" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_wrong_usage(tmp_path, capsys, name):
    assert main(["diagnose", str(tmp_path / name)]) == 2
    assert "npu-adapter:" in capsys.readouterr().err


def test_an_empty_log_has_no_cause(tmp_path):
    (tmp_path / "log").write_bytes(b"")
    assert main(["diagnose", str(tmp_path / "log")]) == 3


def test_the_help_names_every_status_and_no_other(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["diagnose", "--help"])
    table = capsys.readouterr().out.partition("exit status:\n")[2]
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "other").write_text("all is well\n")
    found = {main(["diagnose", str(tmp_path / name)]) for name in ("log", "other", "none")}
    assert (
        {*found, 4} == {*map(int, re.findall(r"^  (\d)  \S", table, re.MULTILINE))} == {0, 2, 3, 4}
    )
