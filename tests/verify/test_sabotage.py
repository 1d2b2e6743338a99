"""One-line sabotages of a good adapter: each is found, named, explained, and its repair works."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.verifications import Verdict, commit

pytestmark = pytest.mark.process

Verify = Callable[..., Verdict]
MUTE_SERVER = f"""exec {sys.executable} -c '
import socket, time
mute = socket.create_server(("0.0.0.0", 8000))
time.sleep(999)'"""
LAUNCH = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 "$@"'


def slow(*values: str):
    """A variant of a sabotage that the corpora of its stage have each day."""
    return pytest.param(*values, marks=pytest.mark.slow)


def rewrite(adapter: Path, new: str) -> None:
    script = adapter / "deploy.sh"
    text = script.read_text("utf-8")
    assert LAUNCH in text
    script.write_text(text.replace(LAUNCH, new), encoding="utf-8")
    commit(adapter)


@pytest.mark.smoke
def test_a_good_adapter_is_ready_from_end_to_end(
    adapter: Path, weights: Path, verify: Verify, port
) -> None:
    seen = verify(adapter, "--weights", weights)
    assert (seen.verdict, seen.status) == ("ready", 0), seen.output
    assert {"service/starts", "service/stops", "endpoint/stream", "probe/completes"} <= {
        check["id"] for check in seen.report["checks"] if check["outcome"] == "pass"
    }
    assert "at least 30 problems" in seen.check("probe/accuracy")["detail"]
    assert {"accuracy (5 runs average)", "avg@5", "pass@5", "cons@5"} <= seen.report[
        "metrics"
    ].keys()
    assert "simulated" in seen.output.lower()
    assert port()


@pytest.mark.parametrize(
    ("launch", "check", "quoted"),
    [
        (LAUNCH.replace("8000", "8001"), "plan/port", "8001"),
        slow(LAUNCH + " --served-model-name other", "plan/served-name", "other"),
        slow(
            LAUNCH.replace('"$MODEL_PATH"', "/models/Qwen3-8B"),
            "plan/model-path",
            "/models/Qwen3-8B",
        ),
        slow("echo " + LAUNCH, "plan/starts-server", "status 0"),
    ],
)
def test_a_wrong_launch_line(
    launch: str, check: str, quoted: str, adapter: Path, weights: Path, verify: Verify
) -> None:
    rewrite(adapter, launch)
    seen = verify(adapter, "--weights", weights)
    assert (seen.verdict, seen.status) == ("not-ready", 1), seen.output
    assert check in seen.failed()
    row = seen.check(check)
    assert quoted in row["detail"]
    assert row["fix"]
    assert seen.check("service/starts")["outcome"] == "skip"


def test_deploy_sh_is_missing(adapter: Path, weights: Path, verify: Verify) -> None:
    (adapter / "deploy.sh").unlink()
    commit(adapter)
    seen = verify(adapter, "--weights", weights, "--until", "weights")
    assert (seen.verdict, seen.status, seen.failed()) == (
        "not-ready",
        1,
        {"repo/deploy-sh-present"},
    ), seen.output
    command = seen.check("repo/deploy-sh-present")["fix"].rpartition("a script that ends in: ")[2]
    (adapter / "deploy.sh").write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
    commit(adapter, "repaired")
    assert verify(adapter, "--weights", weights, "--until", "weights").verdict == "ready"


@pytest.mark.slow
def test_deploy_sh_stands_in_a_subfolder(adapter: Path, weights: Path, verify: Verify) -> None:
    (adapter / "scripts").mkdir()
    (adapter / "deploy.sh").rename(adapter / "scripts" / "deploy.sh")
    commit(adapter)
    seen = verify(adapter, "--weights", weights, "--until", "weights")
    assert seen.failed() == {"repo/deploy-sh-present"}
    assert "scripts/deploy.sh" in seen.check("repo/deploy-sh-present")["detail"]


@pytest.mark.slow
def test_crlf_line_ends(adapter: Path, weights: Path, verify: Verify) -> None:
    (adapter / ".gitattributes").unlink()
    commit(adapter, "line ends are not looked after any more")
    script = adapter / "deploy.sh"
    script.write_bytes(script.read_bytes().replace(b"\n", b"\r\n"))
    commit(adapter)
    seen = verify(adapter, "--weights", weights, "--until", "weights")
    assert (seen.verdict, seen.status) == ("not-ready", 1)
    assert seen.failed() == {"repo/deploy-sh-syntax", "plan/starts-server"}
    for check in sorted(seen.failed()):
        printed = seen.check(check)["evidence"][0]["command"]
        command = printed.partition(" && git ")[0] + ")"  # committed below
        assert "sed -i" in command, printed
        subprocess.run(command, shell=True, cwd=adapter, check=True)
    commit(adapter, "repaired")
    assert verify(adapter, "--weights", weights, "--until", "weights").verdict == "ready"


@pytest.mark.slow
def test_weights_of_101_gigabytes(adapter: Path, weights: Path, verify: Verify) -> None:
    with (weights / "extra.bin").open("wb") as file:
        file.truncate(101 * 10**9)
    seen = verify(adapter, "--weights", weights, "--until", "weights")
    assert (seen.verdict, seen.status) == ("not-ready", 1)
    assert "weights/size-limit" in seen.failed()
    assert "101" in seen.check("weights/size-limit")["detail"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "check"),
    [slow("text-classification", "task/supported"), ("image-text-to-text", "task/matches-weights")],
)
def test_a_task_that_does_not_fit(
    task: str, check: str, adapter: Path, weights: Path, verify: Verify
) -> None:
    seen = verify(adapter, "--weights", weights, "--until", "weights", "--task", task)
    assert (seen.verdict, seen.status, seen.failed()) == ("not-ready", 1, {check}), seen.output
    assert task in seen.check(check)["detail"]
    advised = re.search(r"use the task (\S+),", seen.check(check)["fix"])
    right = advised[1] if advised else "text-generation"
    assert (
        verify(adapter, "--weights", weights, "--until", "weights", "--task", right).verdict
        == "ready"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "quoted", "fix"),
    [
        ("echo 'ValueError: cannot load' >&2; exit 3", "exit status 3", "ValueError: cannot load"),
        (MUTE_SERVER, "8000", "let only the model server open port 8000"),
    ],
    ids=["exits while loading", "opens the port and never answers"],
)
def test_a_server_that_does_not_start(
    body: str,
    quoted: str,
    fix: str,
    adapter: Path,
    weights: Path,
    verify: Verify,
    tmp_path: Path,
    port,
) -> None:
    engine = tmp_path / "engine"
    engine.mkdir()
    (engine / "vllm").write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (engine / "vllm").chmod(0o755)
    seen = verify(
        adapter,
        "--weights",
        weights,
        "--deadline",
        "15",
        "--env",
        f"PATH={engine}:/usr/local/bin:/usr/bin:/bin",
    )
    assert (seen.verdict, seen.status, seen.failed()) == ("not-ready", 1, {"service/starts"}), (
        seen.output
    )
    assert quoted in seen.check("service/starts")["detail"]
    assert fix in seen.check("service/starts")["detail"] + seen.check("service/starts")["fix"]
    assert port()


def test_another_process_on_the_port_is_not_the_submissions_fault(
    adapter: Path, weights: Path, verify: Verify, port
) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-m", "http.server", "8000"], stderr=subprocess.DEVNULL
    )
    try:
        while subprocess.run(
            [
                sys.executable,
                "-c",
                "import socket; socket.create_connection(('127.0.0.1', 8000)).close()",
            ],
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode:
            assert holder.poll() is None
        seen = verify(adapter, "--weights", weights)
    finally:
        holder.kill()
        holder.wait()
    assert (seen.verdict, seen.status) == ("inconclusive", 3), seen.output
    assert str(holder.pid) in seen.check("service/port-free")["detail"]


@pytest.mark.slow
def test_a_model_path_with_spaces_and_chinese_characters(
    adapter: Path, weights: Path, verify: Verify, port
) -> None:
    odd = weights.rename(weights.with_name("模型 权重 $x 'q'"))
    seen = verify(adapter, "--weights", odd)
    assert (seen.verdict, seen.status) == ("ready", 0), seen.output


def test_this_project_is_itself_a_valid_submission(
    weights: Path, verify: Verify, tmp_path: Path
) -> None:
    root = Path(__file__).parents[2]
    seen = verify(root, "--weights", weights, "--until", "weights")
    assert (seen.verdict, seen.status) == ("ready", 0), seen.output


def test_a_machine_without_vllm_says_nothing_about_the_submission(
    adapter: Path, weights: Path, verify: Verify, port
) -> None:
    seen = verify(adapter, "--weights", weights, "--env", "PATH=/usr/local/bin:/usr/bin:/bin")
    assert (seen.verdict, seen.status, seen.failed()) == ("inconclusive", 3, set()), seen.output
    assert "no `vllm` command" in seen.check("service/starts")["detail"]
    assert seen.check("endpoint/models")["outcome"] == "skip"
    assert port()
