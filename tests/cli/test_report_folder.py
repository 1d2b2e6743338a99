"""The report folder of an earlier run: the same request overwrites its report, and nothing else."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.extensions.simulator.bank import known
from tests.support.commands import ran
from tests.support.repositories import GOOD_SCRIPT, git, repository

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    bank = known(seed=0, count=400, families=("arithmetic",))
    behaviour = Behaviour(
        answers={question: answer for question, (answer, _) in bank.items()},
        labels={question: tier for question, (_, tier) in bank.items()},
        accuracy=dict.fromkeys(("easy", "medium", "hard"), 0.9),
    )
    with Simulator(behaviour) as simulator:
        yield simulator.url


def probed(url: str, out: Path, *words: str) -> int:
    return main(
        [
            "verify",
            "--url",
            url,
            "--problems",
            "30",
            "--samples",
            "1",
            "--quiet",
            "--out",
            str(out),
            *words,
        ]
    )


def test_a_run_with_a_probe_can_be_repeated_into_its_folder(url: str, tmp_path: Path) -> None:
    out = tmp_path / "report"
    assert probed(url, out) == 0
    (out / "notes.txt").write_text("mine")
    (out / "logs" / "mine.log").write_text("mine")
    first = (out / "logs" / "samples.jsonl").read_bytes()
    assert probed(url, out, "--temperature", "0.5") == 0
    assert (out / "logs" / "samples.jsonl").read_bytes() != first
    assert (
        json.loads((out / "report.json").read_text())["provenance"]["probe"]["temperature"] == 0.5
    )
    assert (out / "notes.txt").read_text() == (out / "logs" / "mine.log").read_text() == "mine"


def test_no_samples_stay_beside_the_report_of_a_shorter_run(url: str, tmp_path: Path) -> None:
    out = tmp_path / "report"
    assert probed(url, out) == 0
    assert main(["verify", "--url", url, "--until", "endpoint", "--quiet", "--out", str(out)]) == 0
    assert sorted(path.name for path in out.rglob("*") if path.is_file()) == [
        "report.html",
        "report.json",
        "summary.md",
    ]


def test_a_link_out_of_the_folder_is_not_followed(url: str, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    assert probed(url, out) == 0
    (out / "logs").rename(elsewhere)
    (out / "logs").symlink_to(elsewhere)
    assert main(["verify", "--url", url, "--until", "endpoint", "--quiet", "--out", str(out)]) == 0
    assert (elsewhere / "samples.jsonl").is_file()


def test_the_report_on_another_repository_is_kept(adapter: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    assert main(["verify", str(adapter), "--until", "repo", "--quiet", "--out", str(out)]) == 0
    before = (out / "report.json").read_bytes()
    other = repository(tmp_path / "other", {"deploy.sh": GOOD_SCRIPT})
    done = ran("verify", str(other), "--until", "repo", "--out", str(out))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"npu-adapter: {out} holds the report on {adapter}: name another --out\n"
    assert (out / "report.json").read_bytes() == before


def test_the_same_repository_is_overwritten_after_a_change(adapter: Path, tmp_path: Path) -> None:
    words = [
        "verify",
        str(adapter),
        "--until",
        "plan",
        "--quiet",
        "--out",
        str(tmp_path / "report"),
    ]
    assert main(words) == 0
    (adapter / "deploy.sh").write_text(GOOD_SCRIPT.replace("8000", "8001"))
    git(adapter, "commit", "-qam", "wrong")
    assert main(words) == 1
    assert json.loads((tmp_path / "report" / "report.json").read_text())["verdict"] == "not-ready"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"schema": 1, "asked": "runner", "provenance": {}}', "holds the report on runner"),
        ('{"name": "a file of mine"}', "is not a report of this kit"),
        ("[" * 200_000, "is not a report of this kit"),
        ("", "is not a report of this kit"),
    ],
)
def test_what_is_no_report_on_this_repository_is_refused(
    adapter: Path, tmp_path: Path, content: str, said: str
) -> None:
    (tmp_path / "report.json").write_text(content)
    done = ran("verify", str(adapter), "--until", "repo", "--out", str(tmp_path))
    assert done.returncode == 2
    assert said in done.stderr
    assert "name another --out" in done.stderr
    assert (tmp_path / "report.json").read_text() == content


def test_a_run_of_the_probe_is_continued_by_probe_alone(
    url: str, adapter: Path, tmp_path: Path
) -> None:
    run = str(tmp_path / "run")
    words = ["probe", url, "--problems", "30", "--samples", "1", "--quiet"]
    assert main([*words, "--out", run]) == 0
    assert ran(*words, "--out", run).returncode != 0
    assert "holds the report on probe of" in ran("verify", "--url", url, "--out", run).stderr
    (tmp_path / "run" / "report.json").unlink()
    refused = ran("verify", str(adapter), "--until", "repo", "--out", run)
    assert refused.returncode == 2
    assert f"`npu-adapter probe URL --resume {run}`" in refused.stderr
    assert main(["probe", url, "--quiet", "--resume", run]) == 0


def test_nobody_at_the_url_is_one_line_and_no_report(tmp_path: Path) -> None:
    done = ran("verify", "--url", "http://127.0.0.1:9", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "npu-adapter: no server answers at http://127.0.0.1:9 (Connection refused): start it first\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_earlier_report_stays_if_nobody_answers_any_more(url: str, tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(
        '{"schema": 1, "asked": "endpoint only", "provenance": {"url": "http://127.0.0.1:9"}}'
    )
    assert main(["verify", "--url", "http://127.0.0.1:9", "--out", str(tmp_path)]) == 3
    assert (tmp_path / "report.json").is_file()


def test_the_report_is_named_only_where_there_is_one(adapter: Path, tmp_path: Path) -> None:
    words = ("verify", str(adapter), "--until", "repo")
    assert "; why skipped: --verbose\n" in ran(*words).stdout
    assert (
        "; why skipped: --verbose, or the report\n"
        in ran(*words, "--out", str(tmp_path / "o")).stdout
    )


def test_the_page_is_there_before_the_verdict_is_printed(adapter: Path, tmp_path: Path) -> None:
    page = tmp_path / "report" / "report.html"

    class Watched(io.StringIO):
        there: bool | None = None

        def write(self, text: str) -> int:
            if "Verdict" in text and self.there is None:
                self.there = page.is_file()
            return super().write(text)

    with contextlib.redirect_stdout(Watched()) as printed:
        assert (
            main(["verify", str(adapter), "--until", "repo", "--quiet", "--out", str(page.parent)])
            == 0
        )
    assert printed.there is True
