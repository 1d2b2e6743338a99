"""`fleet verify --on local`: real runs of the command, each job a real `verify`."""

from __future__ import annotations

import shutil
import signal
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.support.fleets import WEIGHTS, Place, Ran, gone, wait_for
from tests.support.port import the_port
from tests.support.repositories import git

pytestmark = pytest.mark.slow

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def port():
    with the_port() as is_free:
        yield is_free


def sleeping_engine(place: Place, mark: Path) -> str:
    """A PATH whose `vllm` never listens; it leaves a mark."""
    engine = place.folder / "engine"
    engine.mkdir()
    (engine / "vllm").write_text(f"#!/bin/sh\ntouch '{mark}'; sleep 600\n", encoding="utf-8")
    (engine / "vllm").chmod(0o755)
    return f"PATH={engine}:/usr/local/bin:/usr/bin:/bin"


def test_each_job_has_its_verdict_its_report_and_its_place_in_every_file(place: Place) -> None:
    place.jobs(
        {"repository": place.adapter("good")},
        {"repository": place.adapter("bad", {"deploy.sh": "exit 1\r\n"})},
        {"repository": place.adapter("weightless"), "until": "plan", "weights": "/nowhere"},
    )
    ran = place.run()
    assert ran.status == 1
    assert ran.verdicts() == {"good": "ready", "bad": "not-ready", "weightless": "inconclusive"}
    assert ran.attempts() == {"good": 1, "bad": 1, "weightless": 1}, "wrong usage was tried again"
    good, bad, weightless = ran.fleet["jobs"]
    assert good["commit"] == git(place.folder / "good", "rev-parse", "HEAD").strip()
    assert "/nowhere is not a directory" in weightless["attempts"][0]["said"]
    for job in (good, bad):
        assert (place.out / job["attempts"][0]["folder"] / "report/report.html").is_file()
    (suite,) = ET.parse(place.out / "junit.xml").getroot()
    kinds = {case.get("name"): [child.tag for child in case] for case in suite}
    assert kinds == {"good": [], "bad": ["failure"], "weightless": ["error"]}
    assert "3 jobs: 1 ready, 1 not ready, 1 inconclusive" in ran.output
    page = (place.out / "fleet.html").read_text("utf-8")
    assert 'href="jobs/bad/attempt-1/report/report.html"' in page


def test_all_ready_is_0_and_only_the_commit_is_judged(place: Place) -> None:
    place.jobs({"repository": place.adapter("good")})
    (place.folder / "good" / "deploy.sh").write_text("changed, not committed")
    ran = place.run("--quiet")
    assert (ran.status, ran.verdicts()) == (0, {"good": "ready"})
    assert "begins" not in ran.output


def test_a_repository_does_not_waive_a_check_of_a_fleet_without_settings(place: Place) -> None:
    waives = {
        "deploy.sh": "exit 1\r\n",
        "adapter.toml": '[npu-adapter.skip]\n"repo/deploy-sh-syntax" = "mine"\n',
    }
    place.jobs({"repository": place.adapter("waiving", waives)})

    def problems(ran: Ran) -> set[str]:
        return {each["check"] for each in ran.fleet["jobs"][0]["attempts"][0]["report"]["problems"]}

    checked = problems(place.run("--no-settings"))
    assert "repo/deploy-sh-syntax" in checked
    shutil.rmtree(place.out)
    assert problems(place.run()) == checked - {"repo/deploy-sh-syntax"}


def test_a_commit_is_fetched_from_an_address_and_a_folder_without_one_is_inconclusive(
    place: Place,
) -> None:
    place.adapter("remote")
    git(place.folder / "remote", "config", "uploadpack.allowAnySHA1InWant", "true")
    commit = git(place.folder / "remote", "rev-parse", "HEAD").strip()
    git(place.folder / "remote", "commit", "-q", "--allow-empty", "-m", "later")
    (place.folder / "bare").mkdir()
    address = f"file://{place.folder}/remote"
    place.jobs(
        {"name": "there", "repository": f"{address}@{commit}"},
        {"name": "gone", "repository": f"{address}@{'0' * 40}"},
        {"repository": "bare"},
    )
    ran = place.run()
    there, missing, bare = ran.fleet["jobs"]
    assert (there["verdict"], there["commit"]) == ("ready", commit)
    assert "cannot fetch 000000000000 from file://" in missing["attempts"][0]["said"]
    assert "has no commit" in bare["attempts"][0]["said"]
    assert ran.status == 3


def test_a_token_of_an_address_reaches_git_and_nothing_that_is_written_or_printed(
    place: Place,
) -> None:
    trace = place.folder / "trace"
    place.jobs({"name": "secret", "repository": f"http://oauth2:{TOKEN}@127.0.0.1:9/team/adapter.git@{'1' * 40}",
                "env": [f"HF_TOKEN={TOKEN}"]})  # fmt: skip
    ran = place.run(GIT_TRACE=str(trace))
    assert "cannot fetch" in ran.output
    assert TOKEN not in ran.output
    for path in filter(Path.is_file, place.out.rglob("*")):
        assert TOKEN not in path.read_text("utf-8", "replace"), path


def test_nothing_of_a_repository_runs_in_the_driver(place: Place) -> None:
    place.jobs({"repository": place.adapter("trap", {".gitattributes": "* filter=evil\n"})})
    mark = place.folder / "ran"
    for name in (
        "core.fsmonitor",
        "filter.evil.smudge",
        "filter.evil.clean",
        "core.sshCommand",
        "uploadpack.packObjectsHook",
    ):
        git(place.folder / "trap", "config", name, f"touch {mark}; cat")
    hook = place.folder / "trap/.git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    assert place.run().attempts() == {"trap": 1}
    assert not mark.exists()


def test_inconclusive_is_tried_again_and_not_ready_is_not(place: Place, port) -> None:
    place.jobs(
        {"repository": place.adapter("good"), "env": ["PATH=/usr/bin:/bin"]},
        {"repository": place.adapter("bad", {"deploy.sh": "exit 1\r\n"})},
        until="service", weights=str(WEIGHTS),
    )  # fmt: skip
    ran = place.run("--retries", "2")
    assert ran.verdicts() == {"good": "inconclusive", "bad": "not-ready"}
    assert ran.attempts() == {"good": 3, "bad": 1}
    assert port()


def test_ctrl_c_ends_the_launch_and_resume_runs_what_had_not_ended(place: Place, port) -> None:
    mark = place.folder / "launched"
    path = sleeping_engine(place, mark)
    place.jobs(
        {"repository": place.adapter("first")},
        {
            "repository": place.adapter("second"),
            "until": "service",
            "weights": str(WEIGHTS),
            "env": [path],
        },
        {"repository": place.adapter("third")},
    )
    process = place.start()
    wait_for(mark.exists, process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=280)
    assert process.returncode == 3, output
    assert "Traceback" not in output
    assert gone(str(mark))
    assert port()
    assert (place.out / "jobs/second/attempt-1/report/report.json").is_file(), "what it had is lost"

    (place.folder / "engine/vllm").unlink()
    refused = place.run()
    assert refused.status == 2
    assert "go on with --resume" in refused.output
    before = (place.out / "jobs/first/attempt-1/report/report.json").stat().st_mtime_ns
    ran = place.run("--resume", "--retries", "0")
    assert ran.verdicts() == {"first": "ready", "second": "inconclusive", "third": "ready"}
    assert ran.attempts() == {"first": 1, "second": 1, "third": 1}
    assert (place.out / "jobs/first/attempt-1/report/report.json").stat().st_mtime_ns == before


def test_a_killed_driver_leaves_no_server(place: Place, port) -> None:
    mark = place.folder / "launched"
    place.jobs({"repository": place.adapter("only"), "until": "service", "weights": str(WEIGHTS),
                "env": [sleeping_engine(place, mark)]})  # fmt: skip
    process = place.start()
    wait_for(mark.exists, process)
    process.kill()
    process.communicate()
    assert gone(str(place.folder))
    assert port()


def test_a_time_limit_ends_an_attempt_for_good(place: Place, port) -> None:
    mark = place.folder / "launched"
    place.jobs({"repository": place.adapter("only"), "until": "service", "weights": str(WEIGHTS),
                "env": [sleeping_engine(place, mark)]})  # fmt: skip
    ran = place.run("--time-limit", "12", "--retries", "3")
    (attempt,) = ran.fleet["jobs"][0]["attempts"]
    assert (attempt["ending"], attempt["verdict"], ran.status) == ("time limit", "inconclusive", 3)
    assert gone(str(mark))
    assert port()


def test_a_changed_job_is_not_taken_for_the_one_that_ended(place: Place) -> None:
    row = {"repository": place.adapter("good")}
    place.jobs(row)
    assert place.run().status == 0
    place.jobs(row | {"stack": "0.23.0"})
    said = place.run("--resume")
    assert said.status == 2
    assert "jobs.jsonl:1: the job good has changed since it ran" in said.output


def test_two_runs_do_not_share_a_folder(place: Place, port) -> None:
    mark = place.folder / "launched"
    place.jobs({"repository": place.adapter("only"), "until": "service", "weights": str(WEIGHTS),
                "env": [sleeping_engine(place, mark)]})  # fmt: skip
    process = place.start()
    wait_for(mark.exists, process)
    second = place.run("--resume")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=280)
    assert (second.status, process.returncode) == (2, 3)
    assert "another process is running the jobs" in second.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--retries", "-1"], "less than 0"),
        (["--time-limit", "0"], "argument --time-limit: 0 is not above zero"),
        (["--resume"], "has no fleet.jsonl to go on with"),
    ],
)
def test_wrong_usage(place: Place, words: list[str], said: str) -> None:
    place.jobs({"repository": place.adapter("good")})
    ran = place.run(*words)
    assert ran.status == 2
    assert said in ran.output
