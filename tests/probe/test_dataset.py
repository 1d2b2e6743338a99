"""A user's data set: which rows are asked, their tiers, their pictures, and what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.extensions.simulator.behaviour import Behaviour
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.data_sets.dataset import draw
from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.problems import generate, message, prompt
from tests.support.probes import even

PNG = generate("pictures", "easy", 0, 1)[0].images[0]
JPEG = b"\xff\xd8\xff\xe0" + bytes(64)


def jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def notes(report: dict[str, Any]) -> list[str]:
    """What probe/accuracy says beside its judgement."""
    accuracy = next(check for check in report["checks"] if check["id"] == "probe/accuracy")
    return [finding["seen"] for finding in accuracy["evidence"] if finding["level"] == "note"]


def sums(count: int, **more: object) -> list[dict[str, object]]:
    return [
        {"question": f"What is {n} plus 1?", "answer": f"so\n#### {n + 1}", **more}
        for n in range(count)
    ]


def test_the_rows_are_a_seeded_sample_of_the_whole_file(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "sorted.jsonl", sums(1000))
    drawn = draw(path, 100, 3)
    values = [int(problem.answer) for problem in drawn.problems]
    assert drawn.of == 1000
    assert len(set(values)) == 100
    assert (
        400 < sum(values) / 100 < 600
    )  # the first 100 rows have a mean of 50; the sample's spread is 29
    assert values == sorted(values)
    assert drawn == draw(path, 100, 3)
    assert drawn != draw(path, 100, 4)
    assert len(draw(path, 5000, 3).problems) == 1000


@pytest.mark.process
def test_a_report_says_how_its_problems_were_drawn(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "plus.jsonl", sums(30))
    answers = {row["question"]: str(n + 1) for n, row in enumerate(sums(30))}
    with Simulator(Behaviour(answers=answers, accuracy=even(1.0))) as server:  # type: ignore[arg-type]
        options = ["--dataset", str(path), "--problems", "10", "--samples", "1", "--seed", "7"]
        assert main(["probe", server.url, *options, "--out", str(tmp_path / "run")]) == 0
        assert main(["probe", server.url, "--resume", str(tmp_path / "run")]) == 0
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    assert written["provenance"]["probe"]["seed"] == 7
    assert written["provenance"]["probe"]["drawn_from"] == 30
    assert any("random sample of the 30" in note and "--seed 7" in note for note in notes(written))


@pytest.mark.parametrize("column", ["tier", "category"])
@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_a_column_of_tiers_becomes_tiers(tmp_path: Path, column: str, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    if suffix == "csv":
        path.write_text(f"question,{column},answer\na,algebra,1\nb,geometry,2\nc,,3\n")
    else:
        jsonl(path, [{"question": "a", column: "algebra", "answer": 1}, {"question": "b", column: "geometry", "answer": 2},
                     {"question": "c", "answer": 3}])  # fmt: skip
    assert [problem.tier for problem in draw(path, 9, 0).problems] == [
        "algebra",
        "geometry",
        "no tier",
    ]


def test_pictures_are_sent_from_a_path_and_from_a_data_url(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "one.jpg").write_bytes(JPEG)
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    rows = [
        {"question": "Which?", "answer": "1", "image": "images/one.jpg"},
        {"question": "Which?", "answer": "2", "image": url},
        {"question": "Both?", "answer": "3", "images": [url, "images/one.jpg"]},
    ]
    problems = draw(jsonl(tmp_path / "x.jsonl", rows), 9, 0).problems
    assert [problem.images for problem in problems] == [(JPEG,), (PNG,), (PNG, JPEG)]
    sent = [part["image_url"]["url"][:22] for part in message(problems[2])["content"][1:]]  # type: ignore[index,union-attr,call-overload]
    assert sent == ["data:image/png;base64,", "data:image/jpeg;base64"]
    (tmp_path / "images" / "one.jpg").write_bytes(JPEG + b"x")
    assert [problem.id for problem in draw(tmp_path / "x.jsonl", 9, 0).problems] != [
        p.id for p in problems
    ]


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("../outside.png", "outside the data set's folder"), ("/etc/hostname", "outside the data set's folder"),
        ("link.png", "outside the data set's folder"), ("missing.png", "no picture 'missing.png'"),
        ("https://example.org/a.png", "nothing is downloaded"), ("text.png", "is not a PNG, JPEG, GIF or WebP"),
        ("data:image/png,abc", "a data URL is"), ("data:image/png;base64,???", "not base64"), (7, "neither a path"),
        ([["x.png"]], "neither a path"), ("folder", "is not a file"), ("a\0b", "no picture"), (["text.png"] * 17, "17 pictures"),
    ],
)  # fmt: skip
def test_a_picture_that_cannot_be_sent_is_refused_with_its_row(
    tmp_path: Path, image: object, said: str
) -> None:
    inside = tmp_path / "data"
    (inside / "folder").mkdir(parents=True)
    (tmp_path / "outside.png").write_bytes(PNG)
    (inside / "link.png").symlink_to(tmp_path / "outside.png")
    (inside / "text.png").write_text("no picture")
    path = jsonl(
        inside / "x.jsonl",
        [{"question": "a", "answer": "1"}, {"question": "b", "answer": "2", "image": image}],
    )
    with pytest.raises(UsageError) as refused:
        draw(path, 9, 0)
    assert "x.jsonl:2: " in str(refused.value) or "folder is not a file" in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("row", "said"),
    [({"picture": "a.png"}, "'picture' is not read"), ({"tier": "all"}, "name it otherwise"), ({"tier": ["x"]}, "not a text"),
     ({"category": "x" * 99}, "not a text")],
)  # fmt: skip
def test_columns_that_cannot_be_used_are_refused(
    tmp_path: Path, row: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        draw(jsonl(tmp_path / "x.jsonl", sums(1, **row)), 9, 0)
    assert "x.jsonl:1: " in str(refused.value)
    assert said in str(refused.value)


def test_a_question_with_two_answers_is_refused_with_both_rows(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"question": "Two?", "answer": "2"},
        {"question": "Two?", "answer": "2.0"},
    ]
    assert draw(jsonl(tmp_path / "same.jsonl", rows), 9, 0).of == 1
    with pytest.raises(UsageError) as refused:
        draw(jsonl(tmp_path / "x.jsonl", [*rows, {"question": "Two?", "answer": "3"}]), 9, 0)
    assert (
        "x.jsonl:3: the question of x.jsonl:1 again, but its answer is '3', and '2' there"
        in str(refused.value)
    )


@pytest.mark.process
@pytest.mark.parametrize(
    "row",
    [
        {"question": "Two and two?", "answer": "4"},
        {"question": "Which?", "A": "4", "B": "5", "answer": "A"},
    ],
    ids=["qa", "mcq"],
)
def test_what_the_client_will_print_is_not_said_where_its_grader_is_unknown(
    tmp_path: Path, row: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    path = jsonl(tmp_path / "x.jsonl", [row])
    with Simulator(Behaviour(accuracy=even(1.0))) as server:
        main(
            [
                "probe",
                server.url,
                "--dataset",
                str(path),
                "--samples",
                "2",
                "--out",
                str(tmp_path / "run"),
            ]
        )
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    assert written["metrics"]["the service's client will print"] == {}
    assert "its grader for such problems is not emulated" in capsys.readouterr().out


@pytest.mark.process
def test_wrong_answers_that_the_client_calls_right_are_remarked(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "x.jsonl", sums(4))
    answers = {
        row["question"]: f"-0.5. No: the answer is 900. Step {n + 1}"
        for n, row in enumerate(sums(4))
    }
    with Simulator(Behaviour(answers=answers, accuracy=even(1.0))) as server:  # type: ignore[arg-type]
        main(
            [
                "probe",
                server.url,
                "--dataset",
                str(path),
                "--samples",
                "1",
                "--out",
                str(tmp_path / "run"),
            ]
        )
    written = json.loads((tmp_path / "run" / "report.json").read_text())
    assert written["metrics"]["avg@1"]["value"] == 0
    said = "4 of 4 answers are wrong, but the evaluation client will call them right"
    assert any(note.startswith(said) for note in notes(written))


@pytest.mark.process
@pytest.mark.parametrize(("accuracy", "status"), [(0.015, 3), (0.2, 0)])
def test_so_few_right_answers_that_guesses_reach_them_settle_nothing(
    tmp_path: Path, accuracy: float, status: int
) -> None:
    path = jsonl(
        tmp_path / "plus.jsonl", sums(150)
    )  # all answers differ: the most frequent one is right once
    answers = {row["question"]: str(n + 1) for n, row in enumerate(sums(150))}
    with Simulator(Behaviour(answers=answers, accuracy=even(accuracy), seed=3)) as server:  # type: ignore[arg-type]
        words = [
            "--dataset",
            str(path),
            "--problems",
            "150",
            "--samples",
            "2",
            "--out",
            str(tmp_path / "run"),
        ]
        assert main(["probe", server.url, *words]) == status
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["metrics"]["avg@2"]["value"] > 0
    said = next(check["detail"] for check in report["checks"] if check["id"] == "probe/accuracy")
    assert ("surely less than 5 %, which guesses can reach" in said) == (status == 3)


@pytest.mark.parametrize("source", ["family", "data set"])
def test_examples_with_pictures_are_refused_with_the_reason(
    tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sign.png").write_bytes(PNG)
    rows = [{"question": f"Sign {n}?", "answer": "stop", "image": "sign.png"} for n in range(4)]
    path = jsonl(tmp_path / "signs.jsonl", rows)
    words = ["--family", "pictures"] if source == "family" else ["--dataset", str(path)]
    status = main(["probe", "http://127.0.0.1:9", *words, "--problems", "2", "--set", "few_shot=2"])
    assert status == 2
    assert "few_shot: examples are sent as text alone, and" in capsys.readouterr().err


def test_an_array_is_read_like_lines(tmp_path: Path) -> None:
    path = tmp_path / "plus.json"
    path.write_text(json.dumps(sums(30), indent=1), "utf-8")
    assert [problem.answer for problem in draw(path, 99, 0).problems] == [
        str(n + 1) for n in range(30)
    ]
    path.write_text('[{"question": "a", "answer": "1"}, 7]', "utf-8")
    with pytest.raises(UsageError, match=r"plus\.json:2: not a JSON object but '7'"):
        draw(path, 9, 0)


def test_mmlu_is_read_as_it_is_published(tmp_path: Path) -> None:
    path = tmp_path / "anatomy_test.csv"
    path.write_text(
        '"Which bone, if any, is it?",radius,ulna,"neither, nor",both,C\nWhich?,a,b,c,d,A\n',
        "utf-8",
    )
    first, second = draw(path, 9, 0).problems
    assert (first.kind.value, first.answer, first.letters) == ("choice", "C", "ABCD")
    assert first.question.splitlines() == [
        "Which bone, if any, is it?",
        "A. radius",
        "B. ulna",
        "C. neither, nor",
        "D. both",
    ]
    assert second.answer == "A"
    path.write_text("question,A,B,C,D,answer\nWhich?,a,b,c,d,A\n", "utf-8")
    assert [problem.answer for problem in draw(path, 9, 0).problems] == ["A"]


def test_the_answers_of_ten_persons_give_a_part_of_a_point_each(tmp_path: Path) -> None:
    """TextVQA's figures: three of ten persons give .9, and one .3, which is no more than one half."""
    (tmp_path / "sign.png").write_bytes(PNG)
    persons = ["stop"] * 3 + ["halt"] + ["go"] * 6
    path = jsonl(
        tmp_path / "vqa.jsonl",
        [{"question": "What is there?", "image": "sign.png", "answers": persons}],
    )
    (problem,) = draw(path, 9, 0).problems
    assert prompt(problem) == "What is there?\nAnswer with a single word or phrase."
    grades = [grade(problem, said) for said in ("Stop.", "halt", "go", "no")]
    assert [each.score for each in grades] == pytest.approx([0.9, 0.3, 1.0, 0.0])
    assert [each.correct for each in grades] == [True, False, True, False]


@pytest.mark.parametrize("answers", [["a", 1], [""], ["a"] * 101, ["a", None]])
def test_answers_that_are_no_texts_are_refused(answers: list[object], tmp_path: Path) -> None:
    path = jsonl(tmp_path / "vqa.jsonl", [{"question": "What?", "answers": answers}])
    with pytest.raises(
        UsageError, match=r"vqa\.jsonl:1: its answers are not a list of at most 100 texts"
    ):
        draw(path, 9, 0)
