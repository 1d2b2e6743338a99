"""`verify` without weights runs the stages that need none, and says what it left out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from healthcheck.cli import main
from tests.support.commands import ran
from tests.support.repositories import GOOD_SCRIPT, git, repository

pytestmark = pytest.mark.process

BAD_SCRIPT = GOOD_SCRIPT.replace("8000", "8001")


@pytest.mark.parametrize(("stage", "asked"), [("repo", "repo only"), ("plan", "repo to plan")])
def test_a_stage_that_needs_no_weights_is_ready_without_them(
    adapter: Path, stage: str, asked: str
) -> None:
    done = ran("verify", str(adapter), "--until", stage, "--json", "-")
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"], report["asked"]) == (0, "ready", asked)
    assert report["headline"] == f"ready up to {stage}"


def test_without_a_last_stage_the_verdict_is_inconclusive(adapter: Path, tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    done = ran("verify", str(adapter), "--json", str(tmp_path / "r.json"), "--junit", str(junit))
    report = json.loads((tmp_path / "r.json").read_text())
    assert done.returncode == 3
    assert (
        "Verdict: inconclusive: the weights were not checked: pass --weights DIR\n" in done.stdout
    )
    assert report["next_step"] == f"npu-adapter verify {adapter} --weights DIR"
    assert {check["stage"] for check in report["checks"]} == {"repo", "plan", "weights"}
    assert ET.parse(junit).getroot().get("errors") == "1"


def test_a_failure_without_weights_is_one(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": BAD_SCRIPT})
    done = ran("verify", str(root), "--quiet")
    assert done.returncode == 1
    assert done.stdout.endswith(
        "Verdict: not ready: plan/port failed; 1 unsettled: weights/present\n"
    )


def test_a_repair_needs_no_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": BAD_SCRIPT})
    assert main(["verify", str(root), "--until", "plan", "--fix", "--quiet"]) == 1
    assert "repaired for plan/port" in capsys.readouterr().out
    git(root, "commit", "-qam", "repaired")
    assert main(["verify", str(root), "--until", "plan", "--quiet"]) == 0


@pytest.mark.parametrize("more", [(), ("--staged",)])
def test_messages_write_the_variable_for_a_folder_that_only_stands_in(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    script = GOOD_SCRIPT.replace("8000", '8001 --served-model-name "$MODEL_PATH/x"')
    root = repository(tmp_path / "r", {"deploy.sh": script})
    done = ran("verify", str(root), "--until", "plan", "--json", "-", *more)
    report = json.loads(done.stdout)
    port = next(check for check in report["checks"] if check["id"] == "plan/port")
    assert "vllm serve $MODEL_PATH --host 0.0.0.0 --port 8001" in port["detail"]
    assert "--served-model-name $MODEL_PATH/x" in port["detail"]
    del report["provenance"]["command"]
    assert "npu-adapter-tmp" not in json.dumps(report)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--until", "weights"), "--until weights"),
        (("--until", "probe"), "--until probe"),
        (("--staged", "--until", "weights"), "--until weights"),
        (("--numerics",), "--numerics"),
        (("--client", "aisbench"), "--client"),
    ],
)
def test_what_needs_the_weights_is_wrong_usage_without_them(
    adapter: Path, words: tuple[str, ...], option: str
) -> None:
    done = ran("verify", str(adapter), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"npu-adapter: {option} needs the weights: pass --weights DIR, the folder that becomes MODEL_PATH\n"
    )


def test_a_command_of_a_repair_works_from_where_verify_was_run(tmp_path: Path) -> None:
    root = repository(tmp_path / "my repo", {"scripts/deploy.sh": GOOD_SCRIPT})
    words = ("verify", "my repo", "--until", "repo", "--json", "-")
    done = ran(*words, cwd=tmp_path)
    report = json.loads(done.stdout)
    (command,) = report["next_commands"]
    assert command == "(cd 'my repo' && git mv scripts/deploy.sh deploy.sh)"
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    assert (root / "deploy.sh").is_file()
    git(root, "reset", "-q", "--hard")
    here = json.loads(ran("verify", ".", "--until", "repo", "--json", "-", cwd=root).stdout)
    assert here["next_commands"] == ["git mv scripts/deploy.sh deploy.sh"]
