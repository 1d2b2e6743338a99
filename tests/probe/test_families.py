from __future__ import annotations

import itertools
import json
import struct
import zlib
from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.stages.probe.data_sets.dataset import draw
from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.grading.replies import soft_score
from healthcheck.stages.probe.problems import (
    FAMILIES,
    TIERS,
    AnswerKind,
    Problem,
    generate,
    message,
)
from healthcheck.stages.probe.problems.pictures import SIDE_PIXELS
from healthcheck.stages.probe.results import baselines

ALL = [(family, tier) for family in FAMILIES for tier in TIERS]


@pytest.mark.parametrize(("family", "tier"), ALL)
def test_every_family_is_deterministic_distinct_and_solved_by_its_worked_solution(
    family: str, tier: str
) -> None:
    problems = generate(family, tier, 7, 40)
    assert problems == generate(family, tier, 7, 40)
    assert len({(problem.question, problem.images) for problem in problems}) == 40
    assert len({problem.id for problem in problems}) == 40
    for problem in problems:
        graded = grade(problem, problem.worked)
        assert graded.correct, (problem, graded)
        assert graded.strict
        assert problem.tier == tier


@pytest.mark.parametrize(("family", "tier"), ALL)
def test_the_answer_to_another_problem_is_wrong(family: str, tier: str) -> None:
    problems = generate(family, tier, 3, 30)
    pairs = [(a, b) for a, b in itertools.pairwise(problems) if a.answer != b.answer]
    assert pairs
    assert not any(grade(a, b.worked).correct for a, b in pairs)


@pytest.mark.parametrize("tier", TIERS)
def test_keywords_solve_only_the_easiest_tier_of_the_arithmetic(tier: str) -> None:
    for family in ("arithmetic", "arithmetic-zh"):
        reached = baselines.accuracies(generate(family, tier, 11, 100))
        assert (reached["keyword"] == 1.0) == (tier == "easy")


def pixels(picture: bytes) -> list[bytes]:
    """The lines of an 8-bit RGB picture, by an independent reading of the format."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    place, data, size = 8, b"", (0, 0)
    while place < len(picture):
        length, kind = struct.unpack(">I4s", picture[place : place + 8])
        body = picture[place + 8 : place + 8 + length]
        assert struct.unpack(">I", picture[place + 8 + length :][:4])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            data += body
        place += 12 + length
    raw, stride = zlib.decompress(data), 3 * size[0] + 1
    assert len(raw) == stride * size[1]
    return [raw[y * stride + 1 : (y + 1) * stride] for y in range(size[1])]


def shapes(lines: list[bytes]) -> list[tuple[int, bytes]]:
    """The area and colour of every connected patch that is not white."""
    side = len(lines)
    left = {
        (x, y)
        for y in range(side)
        for x in range(side)
        if lines[y][3 * x : 3 * x + 3] != b"\xff\xff\xff"
    }
    found = []
    while left:
        start = next(iter(left))
        colour, edge, area = lines[start[1]][3 * start[0] : 3 * start[0] + 3], [start], 0
        left.discard(start)
        while edge:
            x, y = edge.pop()
            area += 1
            for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if near in left:
                    left.discard(near)
                    edge.append(near)
        found.append((area, colour))
    return found


def test_pictures_show_what_is_asked_about() -> None:
    for problem in generate("pictures", "medium", 2, 20):
        lines = pixels(problem.images[0])
        assert len(lines) == SIDE_PIXELS
        assert len(shapes(lines)) == int(problem.answer)
    colours = {"red": b"\xd6\x27\x28", "blue": b"\x1f\x5a\xdc", "green": b"\x1e\x96\x3c"}
    for problem in generate("pictures", "hard", 2, 20):
        _, _, colour, form = problem.question.split()[:4]
        areas = [
            area for area, seen in shapes(pixels(problem.images[0])) if seen == colours[colour]
        ]
        wanted = [area for area in areas if (area == 32 * 32) == (form == "squares")]
        assert len(wanted) == int(problem.answer)


def test_a_picture_problem_is_sent_as_text_and_picture() -> None:
    problem = generate("pictures", "easy", 0, 1)[0]
    sent = message(problem)
    text, picture = sent["content"]  # type: ignore[misc]
    assert text["text"].endswith("End with: The answer is N.")  # type: ignore[index,union-attr,call-overload]
    assert picture["image_url"]["url"].startswith("data:image/png;base64,iVBOR")  # type: ignore[index,union-attr,call-overload]


@pytest.mark.parametrize(
    ("matches", "score"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)]
)
def test_the_soft_score_is_textvqas(matches: int, score: float) -> None:
    references = ["stop"] * matches + [f"other {number}x" for number in range(10 - matches)]
    assert soft_score("Stop.", references) == pytest.approx(score)


@pytest.mark.parametrize(
    ("answer", "reference", "same"),
    [
        ("The stop sign!", "stop sign", True), ("**Stop**", "stop", True), ("dont walk", "Don't walk", True),
        ("two dogs", "2 dogs", True), ("3,500", "3500", True), ("no-smoking", "no smoking", True), ("u.s.a.", "USA", True),
        ("$1.20", "$120", False), ("10:30", "1030", False), ("5%", "5", False), ("v1.2", "v12", False), ("24/7", "247", False),
    ],
)  # fmt: skip
def test_what_the_vqa_metric_holds_for_the_same_answer(
    answer: str, reference: str, *, same: bool
) -> None:
    assert soft_score(answer, [reference] * 10) == float(same)


@pytest.mark.parametrize(
    ("text", "correct", "strict"),
    [
        ("B", True, False), ("(B)", True, False), ("B.", True, False), ("The answer is B.", True, True),
        ("The answer is (B) 12.", True, True), ("**Answer: B**", True, True), (r"\boxed{B}", True, True),
        ("答案是B。", True, True), ("A is too small, so it must be B", True, False), ("I think it is\nB. 12", True, False),
        ("The answer is C.", False, False), ("A", False, False), ("none", False, False), ("", False, False),
        ("<think>The answer is B.", False, False), ("A B C D", False, False), ("The answer is A. No: the answer is B.", True, True),
    ],
)  # fmt: skip
def test_letters_are_found(text: str, correct: bool, strict: bool) -> None:
    problem = Problem(
        id="x",
        family="mcq",
        tier="",
        question="?",
        answer="B",
        kind=AnswerKind.CHOICE,
        letters="ABCD",
    )
    graded = grade(problem, text)
    assert (graded.correct, graded.strict) == (correct, strict)


def test_a_cut_answer_counts_only_where_it_was_marked() -> None:
    problem = generate("arithmetic", "easy", 0, 1)[0]
    assert grade(problem, f"so {problem.answer}", finish_reason="stop").correct
    assert not grade(problem, f"so {problem.answer}", finish_reason="length").correct
    assert grade(problem, f"The answer is {problem.answer}. And", finish_reason="length").correct


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_gsm8k_lines_are_read(tmp_path: Path) -> None:
    rows = [
        {"question": f"How many? {n}", "answer": f"2+{n} = <<2+{n}={n + 2}>>{n + 2}\n#### 1,00{n}"}
        for n in range(5)
    ]
    path = written(tmp_path / "gsm8k.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    problems = draw(path, 5, 0).problems
    assert [problem.answer for problem in problems] == [f"1,00{n}" for n in range(5)]
    assert grade(problems[0], "The answer is $1000").correct
    assert not grade(problems[0], "The answer is 2").correct


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_custom_data_sets_are_read(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"question": "Which, of 1 and 2,\nis larger?", "A": "1", "B": "2", "answer": "b"},
        {"question": "Which is a fruit?", "A": "stone", "B": "apple", "answer": "B"},
    ]
    if suffix == "csv":
        text = 'question,A,B,answer\n"Which, of 1 and 2,\nis larger?",1,2,b\nWhich is a fruit?,stone,apple,B\n'
    else:
        text = "\ufeff" + "\n\n".join(map(json.dumps, rows))
    problems = draw(written(tmp_path / f"x.{suffix}", text), 10, 0).problems
    assert [(problem.kind, problem.answer, problem.letters) for problem in problems] == [
        (AnswerKind.CHOICE, "B", "AB")
    ] * 2
    assert problems[0].question == "Which, of 1 and 2,\nis larger?\nA. 1\nB. 2"


def test_questions_with_words_for_answers_are_graded_by_words(tmp_path: Path) -> None:
    path = written(
        tmp_path / "qa.csv", "question,answer\nCapital of France?,Paris\nTwo and two?,4\n"
    )
    paris, four = draw(path, 10, 0).problems
    assert grade(paris, "Paris.").correct
    assert grade(paris, "The capital?\nThe answer is: Paris").correct
    assert not grade(
        paris, "The capital is: Paris"
    ).correct  # neither the form, nor a line of its own
    assert not grade(paris, "London").correct
    assert grade(four, "It is 4.").correct


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.jsonl", "", "no problems"),
        ("x.jsonl", "{}\n", "x.jsonl:1: no 'question' in this row (it has nothing); --set columns.question=NAME"),
        ("x.jsonl", '{"question": "a", "answer": "1"}\n[1]\n', "x.jsonl:2: not a JSON object"),
        ("x.jsonl", '{"question": "a", "answer": "1"}\n{"question":\n', "x.jsonl:2: not JSON"),
        ("x.jsonl", '{"question": "a", "answer": null}', "'answer' is empty in this row"),
        ("x.jsonl", '{"question": "a", "answer": ["1"]}', "'answer' is \"['1']\", and not one text or number"),
        ("x.jsonl", '{"question": "a", "A": "1", "B": "2", "answers": ["A", "A"]}', "and letters to choose from"),
        ("x.jsonl", '{"question": "a", "answers": ["London", "London, England"]}', "not other names of one answer"),
        ("x.csv", "answer,question,A,B,C,D\n4,a,1,2,3,4\n", "none of the letters ABCD"),
        ("x.csv", '"' + "x" * 1_000_001, "not CSV"),
        ("x.jsonl", '{"question": "a", "answer": "so\\n####  "}', "nothing follows"),
        ("x.jsonl", '{"question": "a", "A": "1", "B": "2", "answer": "C"}', "none of the letters AB"),
        ("x.csv", "prompt,answer\na,1\n", "no 'question' in this row (it has prompt, answer)"),
        ("x.csv", 'question,answer\n"a,1\n', "not CSV"),
    ],
)  # fmt: skip
def test_damaged_data_sets_are_refused_with_the_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        draw(written(tmp_path / name, text), 10, 0)
    assert said in str(refused.value)


def test_bytes_that_are_no_text_and_files_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "x.jsonl", tmp_path, tmp_path / "missing.jsonl"):
        with pytest.raises(UsageError):
            draw(path, 10, 0)
