"""`pytest --npu-adapter`: an item a check; no match for the verdict of record, and no burden where it is unused."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck import cli
from tests.support.port import port_is_free, the_port

pytestmark = pytest.mark.process

ENGINE = Path(__file__).parents[2] / "examples" / "simulated_engine"
SERVER = Path(__file__).parents[1] / "service" / "chat_server.py"

GOOD = """\
#!/bin/sh
exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000
"""
FOOLING = """\
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.setup = item.runtest = lambda: None
"""


@pytest.fixture
def submission(tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "deploy.sh").write_text(GOOD)
    (folder / "deploy.sh").chmod(0o755)
    (folder / "requirements.txt").write_text("")
    return folder


def run(folder, *arguments, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env=kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | variables,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def plugged(folder, *arguments):
    return run(
        folder, "-p", "healthcheck.extensions.pytest_plugin", "--npu-adapter", ".", "-v", *arguments
    )


def test_each_check_is_an_item_and_a_failure_says_what_to_do(submission):
    deploy = submission / "deploy.sh"
    deploy.write_text(GOOD.replace("8000", "8080"))
    done = plugged(submission)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"npu-adapter::plan/host\b.* PASSED", done.stdout), done.stdout
    assert re.search(r"npu-adapter::plan/port\b.* FAILED", done.stdout), done.stdout
    assert "fix: " in done.stdout
    assert "npu-adapter::weights/" not in done.stdout


def test_a_submission_for_another_service_says_so(submission):
    (submission / "deploy.sh").write_text(GOOD.replace("8000", "9000"))
    (submission / "adapter.toml").write_text('[npu-adapter]\nservice = "room.toml"\n')
    (submission / "room.toml").write_text("port = 9000\n")
    done = plugged(submission)
    assert re.search(r"npu-adapter::plan/port\b.* PASSED", done.stdout), done.stdout
    assert "npu-adapter: for the service of room.toml" in done.stdout


def test_a_good_submission_passes_and_until_ends_it_early(submission):
    done = plugged(submission, "--npu-adapter-until", "repo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "npu-adapter::plan/" not in done.stdout


def test_a_conftest_fools_the_plugin_and_not_the_verdict_of_record(submission, tmp_path):
    (submission / "deploy.sh").write_text(GOOD.replace("8000", "8080"))
    (submission / "conftest.py").write_text(FOOLING)
    assert plugged(submission).returncode == 0
    empty = tmp_path / "weights"
    empty.mkdir()
    assert (
        cli.main(["verify", str(submission), "--weights", str(empty), "--until", "plan", "--quiet"])
        == 1
    )


def test_an_unused_plugin_imports_nothing_and_adds_nothing(submission):
    (submission / "test_own.py").write_text(
        "import sys\n"
        "def test_own():\n"
        "    loaded = {name for name in sys.modules if name.startswith('healthcheck.')}\n"
        "    assert loaded == {'healthcheck.extensions', 'healthcheck.extensions.pytest_plugin'}\n"
    )
    done = run(submission, "-p", "healthcheck.extensions.pytest_plugin", "-q")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.parametrize(
    "options", [["--npu-adapter", "gone"], ["--npu-adapter", ".", "--npu-adapter-weights", "gone"]]
)
def test_a_folder_that_is_not_there_is_wrong_usage(submission, options):
    done = run(submission, "-p", "healthcheck.extensions.pytest_plugin", *options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "gone: no such folder" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


CHAT = """\
def test_one(chat):
    assert chat("What is 2+2?", max_tokens=8)

def test_two(adapter_server, chat):
    assert adapter_server.launch.ready_s > 0
"""


@pytest.fixture
def live(submission):
    """Runs its tests with the simulated engine for `vllm`, on the real port 8000."""
    (submission / "test_chat.py").write_text(CHAT)
    options = [
        "-p",
        "healthcheck.extensions.pytest_plugin",
        f"--npu-adapter-weights={ENGINE / 'weights'}",
        "-rs",
    ]
    path = f"{ENGINE / 'bin'}:{os.environ['PATH']}:{Path(sys.executable).parent}"
    with the_port():
        yield lambda **variables: run(submission, *options, PATH=path, **variables)


def test_the_server_fixtures_launch_once_and_talk(live):
    done = live()
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    assert port_is_free()


def test_a_launch_that_fails_is_told_with_its_cause(live, submission):
    (submission / "deploy.sh").write_text("#!/bin/sh\necho 'RuntimeError: no luck' >&2\nexit 3\n")
    done = live()
    assert "2 errors" in done.stdout, done.stdout + done.stderr
    assert "exit status 3" in done.stdout
    assert "no luck" in done.stdout
    assert "Traceback" not in done.stdout


def test_no_secret_of_the_log_is_printed(live, submission):
    said = "connecting with password=hunter2345, then with correct horse battery"
    (submission / "deploy.sh").write_text(f"#!/bin/sh\necho '{said}'\nexit 1\n")
    done = live(DB_PASSWORD="correct horse battery")
    assert "connecting with password=removed, then with removed" in done.stdout, (
        done.stdout + done.stderr
    )
    assert "hunter2345" not in done.stdout
    assert "correct horse" not in done.stdout


def test_no_secret_of_an_answer_is_printed(live, submission):
    (submission / "test_chat.py").write_text("def test_one(chat):\n    chat('Hello')\n")
    (submission / "deploy.sh").write_text(
        f"#!/bin/sh\nexec '{sys.executable}' '{SERVER}' 8000 once\n"
    )
    done = live()
    assert "no whole completion: " in done.stdout, done.stdout + done.stderr
    assert "password=removed" in done.stdout
    assert "hunter2345" not in done.stdout


def test_a_taken_port_skips(live):
    with socket.create_server(("0.0.0.0", 8000)):
        done = live()
    assert "2 skipped" in done.stdout, done.stdout + done.stderr
    assert "port 8000" in done.stdout


def test_the_server_fixtures_skip_without_weights(submission):
    (submission / "test_chat.py").write_text("def test_chat(chat):\n    assert chat('2+2=')\n")
    done = run(submission, "-p", "healthcheck.extensions.pytest_plugin", "-rs")
    assert "1 skipped" in done.stdout
    assert "--npu-adapter-weights" in done.stdout
