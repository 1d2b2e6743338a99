"""`npu-adapter score`: scores of the user, from a file, and what they choose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator import Simulator
from healthcheck.stages.probe.run.folder import load, read_metrics
from tests.support.commands import ran, started
from tests.support.probes import behaviour, even

pytestmark = pytest.mark.process

Score = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a run of `npu-adapter probe` that is right in half of its samples."""
    folder = tmp_path / "run"
    with Simulator(behaviour(accuracy=even(0.5))) as simulator:
        words = (
            "--problems",
            "12",
            "--samples",
            "4",
            "--concurrency",
            "8",
            "--quiet",
            "--out",
            str(folder),
        )
        assert main(["probe", simulator.url, *words]) in {0, 1, 3}
    return folder


@pytest.fixture
def oracle(run: Path, tmp_path: Path) -> str:
    """A file with the highest scores for right answers."""
    found = load(run)
    pairs = zip(found.samples, found.grades, strict=True)
    rows = [
        f"{sample.problem},{sample.repeat},{0.9 if grade.correct else 0.1}"
        for sample, grade in pairs
    ]
    (tmp_path / "oracle.csv").write_text("\n".join(["problem,repeat,score", *rows]) + "\n")
    return str(tmp_path / "oracle.csv")


@pytest.mark.smoke
def test_as_a_process_it_scores_a_run(run: Path, oracle: str) -> None:
    done = started("score", "run", "--scores", oracle, cwd=run.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert "48 scores from column score of oracle.csv" in done.stdout


def test_the_help_names_every_status_and_no_other(run: Path, oracle: str) -> None:
    table = ran("score", "--help").stdout.partition("exit status:\n")[2]
    assert set(map(int, re.findall(r"^  (\d)  \S", table, re.MULTILINE))) == {0, 2, 4}
    assert ran("score", str(run), "--scores", oracle).returncode == 0
    assert ran("score", str(run), "--scores", "none.csv").returncode == 2
    assert ran("score", str(run), "--scores", oracle, "--json", "/dev/full").returncode == 4


def test_a_run_folder_may_have_the_name_of_another_command(run: Path, oracle: str) -> None:
    run.rename(run.parent / "probe")
    done = ran("score", "probe", "--scores", oracle, cwd=run.parent)
    assert done.returncode == 0, done.stderr


def test_what_is_missing_is_said_in_chinese() -> None:
    done = ran("--lang", "zh", "score", "x")
    assert done.returncode == 2
    assert "缺少必需的参数：--scores" in done.stderr


def value(folder: Path, name: str) -> float:
    return read_metrics(folder)[name]["value"]  # type: ignore[index,call-overload,return-value]


def test_a_scorer_that_knows_chooses_a_right_answer_wherever_there_is_one(
    run: Path, oracle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = load(run)
    assert main(["score", str(run), "--scores", oracle]) == 0
    said = capsys.readouterr().out
    solved = (
        len({s.problem for s, g in zip(passed.samples, passed.grades, strict=True) if g.correct})
        / 12
    )
    assert solved > 0
    assert (
        value(run, "best@4 (score)")
        == value(run, "weighted maj@4 (score)")
        == pytest.approx(solved)
    )
    assert f"{100 * solved:.2f}" in next(
        line for line in said.splitlines() if "best@4 (score)" in line
    )
    assert list(read_metrics(run)["all"]["figures"])[-8:] == [  # type: ignore[index,call-overload]
        *(f"weighted maj@{k} (score)" for k in range(1, 5)),
        *(f"best@{k} (score)" for k in range(1, 5)),
    ]


def test_a_column_of_a_file_scores_too_and_a_negative_one_does_not_vote(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (run / "logs/samples.jsonl").read_text("utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    file = tmp_path / "scored.jsonl"
    file.write_text(
        "".join(json.dumps(sample | {"reward": -sample["repeat"]}) + "\n" for sample in samples)
    )
    assert main(["score", str(run), "--scores", str(file), "--column", "reward"]) == 0
    # The highest score is that of the first sample.
    first = [
        g.correct for s, g in zip(load(run).samples, load(run).grades, strict=True) if s.repeat == 0
    ]
    assert value(run, "best@4 (score)") == pytest.approx(sum(first) / len(first))
    assert "weighted maj@4 (score)" not in read_metrics(run)
    assert "a negative score has no weight" in capsys.readouterr().out

    table = tmp_path / "scored.csv"
    table.write_text(
        "problem,repeat,score\n" + "".join(f"{s['problem']},{s['repeat']},0.5\n" for s in samples)
    )
    assert main(["score", str(run), "--scores", str(table)]) == 0
    assert "a negative score" not in capsys.readouterr().out
    named = read_metrics(run)["all"]["figures"]  # type: ignore[index,call-overload]
    assert value(run, "weighted maj@4 (score)") == pytest.approx(named["maj@4"]["value"])  # type: ignore[index,call-overload]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows[:-1], "no score for 1 of 48 answers"),
        (lambda rows: [*rows, rows[0]], "has a score already"),
        (lambda rows: [*rows, "99,0,1"], "no sample of problem 99, repeat 0"),
        (
            lambda rows: [*rows[1:], rows[0].rpartition(",")[0] + ",high"],
            "a score is a number, not 'high'",
        ),
        (
            lambda rows: [*rows[1:], rows[0].rpartition(",")[0] + ",nan"],
            "a score is a number, not 'nan'",
        ),
        (lambda rows: [*rows, "0.5,0,1"], "problem is to be a whole number"),
        (lambda rows: [*rows, f"0,0,{'9' * 2_000_000}"], "not CSV: field larger than field limit"),
    ],
)
def test_scores_that_do_not_fit_the_run_are_refused(
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[list[str]], list[str]],
    said: str,
) -> None:
    rows = [f"{problem},{repeat},1" for problem in range(12) for repeat in range(4)]
    table = tmp_path / "scored.csv"
    table.write_text("\n".join(["problem,repeat,score", *change(rows)]) + "\n")
    assert main(["score", str(run), "--scores", str(table)]) == 2
    assert said in capsys.readouterr().err
    assert not (run / "results/scores.json").exists()


def test_samples_that_came_after_the_scores_leave_them_out(run: Path, oracle: str) -> None:
    assert main(["score", str(run), "--scores", oracle]) == 0
    scores = json.loads((run / "results/scores.json").read_text())
    (run / "results/scores.json").write_text(json.dumps(scores | {"scores": scores["scores"][1:]}))
    from healthcheck.stages.probe.results.metrics import compute_metrics

    assert not any("(score)" in name for name in compute_metrics(load(run)))


def test_the_report_of_the_run_stays_as_it_was(run: Path, oracle: str) -> None:
    before = {name: (run / name).read_bytes() for name in ("report.json", "report.html")}
    assert main(["score", str(run), "--scores", oracle]) == 0
    assert {name: (run / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    ("combine", "best"),
    [
        ("weights", 1),  # 0.7 * 5 + 0.3 * 0
        ("priority", 1),
        ("pareto", (1, 2)),  # each is the best in one column; 0 and 3 are below both
    ],
)
def test_several_columns_make_one_score(
    run: Path, tmp_path: Path, combine: str, best: int | tuple[int, ...]
) -> None:
    helpful, safe = (1, 5, 2, 0), (0, 0, 4, 0)
    rows = [
        f"{problem},{repeat},{helpful[repeat]},{safe[repeat]}"
        for problem in range(12)
        for repeat in range(4)
    ]
    table = tmp_path / "scored.csv"
    table.write_text("\n".join(["problem,repeat,helpful,safe", *rows]) + "\n")
    columns = ["--column", "helpful:0.7", "--column", "safe:0.3", "--combine", combine]
    assert main(["score", str(run), "--scores", str(table), *columns]) == 0
    chosen = (best,) if isinstance(best, int) else best
    right = [
        g.correct
        for s, g in zip(load(run).samples, load(run).grades, strict=True)
        if s.repeat in chosen
    ]
    assert value(run, "best@4 (score)") == pytest.approx(sum(right) / len(right))


def test_a_weight_that_is_no_number_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scored.csv").write_text("problem,repeat,helpful\n0,0,1\n")
    assert (
        main(
            [
                "score",
                str(run),
                "--scores",
                str(tmp_path / "scored.csv"),
                "--column",
                "helpful:much",
            ]
        )
        == 2
    )
    assert "--column helpful:much: a score is a number" in capsys.readouterr().err
