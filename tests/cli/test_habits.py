"""What a person expects of any command line: hints, quiet and loud, no colours in files, a version."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from healthcheck import __version__, cli
from healthcheck.cli import main
from tests.support.commands import ran, started
from tests.support.port import the_port
from tests.support.template import ROOT

WEIGHTS = ROOT / "examples" / "simulated_engine" / "weights"
LONG = "n" * 300
"""No file system of Linux has such a name."""
ESCAPE = "\x1b["


def on_a_terminal(*words: str, columns: int = 100, **variables: str) -> str:
    """What it prints where standard output is a terminal."""
    ours, theirs = pty.openpty()
    pieces: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # nobody has the other end any more
            while piece := os.read(ours, 65536):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        ran(*words, stdout=theirs, TERM="xterm-256color", COLUMNS=str(columns), **variables)
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)
    return b"".join(pieces).decode()


def verify(root: Path, *words: str) -> list[str]:
    return ["verify", str(root), "--weights", str(WEIGHTS), "--until", "repo", *words]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["verfy"], "did you mean verify?"),
        (["verify", "--wieghts", "x"], "did you mean --weights"),
        (["verify", "--until", "weigths"], "did you mean weights?"),
        (["verify", "--weights", "x", "--skip", "plan/prot"], "did you mean plan/port"),
        (["explain", "plan/hots"], "did you mean plan/host"),
        (["explain", "weights/chat-template"], "did you mean weights/tokenizer?"),
        (["explain", "port"], "did you mean plan/port or service/port-free"),
        (["--verison"], "unrecognized arguments: --verison; did you mean --version?"),
        (["new", "x", "--task", "text"], "did you mean text-generation?"),
        (["simulate", "--fault", "no-dne"], "did you mean no-done?"),
        (
            ["verify", "--weights", "x", "--until", "plan", "--task", "text-gen"],
            "did you mean text-generation?",
        ),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(words)
    except SystemExit as stop:
        status = stop.code
    assert status == 2
    assert meant in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verify", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["verify", "--npus", "0"], "argument --npus: 0 is less than 1"),
        (["verify", "--npus", "-3"], "argument --npus: -3 is less than 1"),
        (["verify", "--deadline", "soon"], "argument --deadline: 'soon' is not a number"),
        (["verify", "--deadline", "inf"], "argument --deadline: inf is not a finite number"),
        (
            ["probe", "http://h", "--problems", "many"],
            'argument --problems: expected a whole number, at least 1, not "many"',
        ),
        (
            ["probe", "http://h", "--temperature", "3"],
            'argument --temperature: expected a number from 0 to 2, not "3"',
        ),
        (
            ["probe", "http://h", "--gate", ".3,.1"],
            "argument --gate: expected three numbers such as",
        ),
        (
            ["simulate", "--port", "99999"],
            "argument --port: 99999 does not lie between 0 and 65535",
        ),
        (["simulate", "--dialect", "x"], "argument --dialect: 'x' is not one of "),
        (["verify", LONG], f"argument repo: {LONG}: File name too long"),
        (["verify", "--weights", f"{LONG}/w"], f"argument --weights: {LONG}/w: File name too long"),
        (["update", LONG], f"argument REPO: {LONG}: File name too long"),
        (["diagnose", LONG], f"argument LOGFILE: {LONG}: File name too long"),
        (["probe"], "the following arguments are required: URL"),
    ],
)
def test_wrong_usage_takes_two_lines(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"npu-adapter {words[0]}: {said}")
    assert second == f"see `npu-adapter {words[0]} --help`"


def test_a_fault_that_is_like_no_other_is_told_where_they_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", "--fault", "nosuch"]) == 2
    assert "'nosuch' (`npu-adapter simulate --list` shows all)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verify", str(ROOT), "--url", "http://127.0.0.1:9"], "not a repository: omit"),
        (["verify", "nosuchrepo"], "there is no folder nosuchrepo"),
        (
            ["verify", str(ROOT), "--until", "weights"],
            "--until weights needs the weights: pass --weights DIR",
        ),
        (
            ["verify", str(ROOT), "--weights", "nosuchweights"],
            "--weights nosuchweights is not a directory",
        ),
    ],
)
def test_what_cannot_be_looked_at_is_refused_before_the_work(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line


@pytest.mark.process
def test_a_check_that_does_not_exist_is_not_skipped_in_silence(
    adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(verify(adapter, "--skip", "no-such-thing-at-all")) == 2
    assert "there is no check 'no-such-thing-at-all'" in capsys.readouterr().err


@pytest.mark.process
def test_quiet_prints_what_stands_in_the_way_and_the_verdict(adapter: Path, faulty: Path) -> None:
    good, bad = ran(*verify(adapter, "--quiet")), ran(*verify(faulty, "--quiet"))
    assert (good.returncode, bad.returncode) == (0, 1)
    assert good.stderr == bad.stderr == ""
    assert good.stdout == "Verdict: ready up to repo\n"
    assert re.match(
        r"repo/deploy-sh-present: .*scripts/deploy.sh.*Fix: .*git mv", bad.stdout.splitlines()[0]
    )
    assert bad.stdout.splitlines()[-1] == "Verdict: not ready: repo/deploy-sh-present failed"


@pytest.mark.process
def test_verbose_tells_every_result_as_a_line(adapter: Path) -> None:
    done = ran(*verify(adapter, "--verbose"))
    assert re.search(r"^ +[\d.]+ s  repo/committed passed \(", done.stderr, re.MULTILINE)
    assert ran(*verify(adapter, "--quiet", "--verbose")).returncode == 2


@pytest.mark.process
def test_files_and_pipes_get_no_colours(faulty: Path, tmp_path: Path) -> None:
    done = ran(
        *verify(
            faulty,
            "--json",
            str(tmp_path / "r.json"),
            "--junit",
            str(tmp_path / "r.xml"),
            "--out",
            str(tmp_path / "o"),
        )
    )
    assert ESCAPE not in done.stdout + done.stderr
    written = [
        path for path in tmp_path.rglob("*") if path.suffix in {".json", ".xml", ".md", ".html"}
    ]
    assert len(written) >= 5
    assert not any(ESCAPE.encode() in path.read_bytes() for path in written)


@pytest.mark.process
def test_a_terminal_gets_colours_unless_no_color_is_set(faulty: Path) -> None:
    assert ESCAPE + "31m" in on_a_terminal(*verify(faulty))
    assert ESCAPE + "31m" not in on_a_terminal(*verify(faulty), NO_COLOR="1")


@pytest.mark.process
@pytest.mark.parametrize("columns", [60, 100])
def test_lines_fit_the_terminal(faulty: Path, columns: int) -> None:
    text = re.sub(r"\x1b\[[\d;]*m", "", on_a_terminal(*verify(faulty), columns=columns))
    lines = text.replace("\r", "").split("\n")
    commands = [line for line in lines if line.lstrip().startswith("(cd ")]
    assert commands, "a command to paste is never wrapped"
    assert max(len(line) for line in lines if line not in commands) <= columns
    assert lines == [line.rstrip() for line in lines]
    body = [
        line
        for line in lines[: next(at for at, line in enumerate(lines) if "Verdict" in line)]
        if line
    ]
    assert [line.split()[0] for line in body if line[0] != " "] == ["repo"], (
        "a title hangs under its beginning"
    )


@pytest.mark.process
@pytest.mark.parametrize("columns", ["", "wide", "0", "-3"])
def test_a_width_that_is_none_is_left_aside(faulty: Path, columns: str) -> None:
    done = ran(*verify(faulty), COLUMNS=columns)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


@pytest.mark.process
def test_the_order_is_the_same_every_time(faulty: Path) -> None:
    assert ran(*verify(faulty)).stdout == ran(*verify(faulty)).stdout


@pytest.mark.process
def test_the_version_names_the_commit_of_a_checkout() -> None:
    said = ran("--version").stdout
    assert said.startswith(f"npu-adapter-kit {__version__}")
    if (ROOT / ".git").exists():
        head = subprocess.run(
            ["git", "-C", str(ROOT), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert re.search(r"\(commit (\w{12,})", said)[1] == head.stdout[:12]


@pytest.mark.process
def test_the_version_of_an_installed_kit_has_no_commit(tmp_path: Path) -> None:
    shutil.copytree(
        ROOT / "healthcheck", tmp_path / "healthcheck", ignore=shutil.ignore_patterns("__pycache__")
    )
    assert (
        started("--version", PYTHONPATH=str(tmp_path), cwd=tmp_path).stdout
        == f"npu-adapter-kit {__version__}\n"
    )


@pytest.mark.process
def test_doctor_says_what_is_there_and_what_it_is_for(tmp_path: Path) -> None:
    done = ran("doctor", "--json", str(tmp_path / "parts.json"))
    assert done.returncode == 0
    parts = {
        part["name"]: part for part in json.loads((tmp_path / "parts.json").read_text())["parts"]
    }
    assert parts["git"]["found"].startswith("git version")
    assert parts.keys() >= {
        "sh",
        "dash",
        "bash",
        "namespaces",
        "port 8000",
        "copier",
        "vllm",
        "npu-smi",
    }
    assert all(part["use"] and part["without"] for part in parts.values())
    assert all(name in done.stdout for name in parts)


@pytest.mark.process
def test_doctor_names_the_process_that_has_the_port() -> None:
    with the_port(), socket.create_server(("127.0.0.1", 8000)):
        said = ran("doctor").stdout
    assert re.search(
        rf"^no +port 8000 +taken by process {os.getpid()} of user \S+ \(.*\): end it",
        said,
        re.MULTILINE,
    )


@pytest.mark.process
def test_doctor_fails_where_a_needed_part_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    done = ran("doctor", PATH=str(tmp_path))
    assert done.returncode == 1
    assert re.search(r"^NO +git +install git", done.stdout, re.MULTILINE)


@pytest.mark.process
def test_windows_paths_are_read(adapter: Path, tmp_path: Path) -> None:
    weights = os.path.relpath(WEIGHTS, tmp_path).replace("/", "\\")
    done = ran(
        "verify", ".\\adapter", "--weights", weights, "--until", "repo", "--quiet", cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stage_lists_its_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "service"]) == 0
    ids = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert "service/port-free" in ids
    assert {each.partition("/")[0] for each in ids} == {"service"}


def test_a_drive_that_is_not_there_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", "Q:\\logs\\deploy.log"])
    assert stop.value.code == 2
    assert "/mnt/q/logs/deploy.log" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"), [("all is well\n", "(1 line)"), ("all\nis well\n", "(2 lines)")]
)
def test_a_log_without_a_failure(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.log").write_text(text)
    assert main(["diagnose", str(tmp_path / "x.log")]) == 3
    first, quoting, *lines = capsys.readouterr().out.splitlines()
    assert (first, quoting) == (
        f"no known failure in {tmp_path / 'x.log'} {said}",
        "no line looks like an error; the last lines that are neither INFO nor DEBUG:",
    )
    assert [line.split(None, 1)[1] for line in lines] == text.splitlines()


def test_the_log_of_a_server_that_runs_has_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "x.log"
    log.write_text("WARNING slow disk\nINFO:     Application startup complete.\n")
    assert main(["diagnose", str(log)]) == 3
    assert "line 2 shows a running server" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.process
def test_windows_line_ends_in_a_log_and_in_settings(tmp_path: Path) -> None:
    log = tmp_path / "deploy.log"
    log.write_bytes(b"INFO\r\nModuleNotFoundError: No module named 'torch_npu'\r\n")
    assert "\r" not in ran("diagnose", str(log)).stdout
    shutil.copytree(
        ROOT / "adapter", tmp_path / "adapter", ignore=shutil.ignore_patterns("__pycache__")
    )
    (tmp_path / "adapter.toml").write_bytes(b"# mine\r\nmax_model_len = 1024\r\n")
    environment = {**os.environ, "MODEL_PATH": str(WEIGHTS), "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-m", "adapter"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--max-model-len 1024" in done.stdout


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [
        ("verify", "--url", "nonsense"),
        ("verify", "--url", "http://me:hunter2@127.0.0.1:8000"),
        ("probe", "ftp://somewhere"),
        ("probe", "http://"),
    ],
)
def test_what_is_no_address_is_wrong_usage(words: tuple[str, ...]) -> None:
    ended = ran(*words)
    assert ended.returncode == 2
    assert "http://HOST:PORT" in ended.stderr
    assert "hunter2" not in ended.stderr


@pytest.mark.process
def test_ctrl_c_while_the_command_is_still_being_imported_ends_it_without_a_traceback() -> None:
    program = (
        "import healthcheck.cli as cli, importlib, os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "cli.importlib = type('Slow', (), {'import_module': staticmethod(lambda name: os.kill(os.getpid(), 2))})\n"
        "cli.main(['verify'])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")


@pytest.mark.parametrize("command", ["", *cli.COMMANDS])
def test_help_fits_80_columns(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*filter(None, [command]), "--help"])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []
