"""Where problems and examples come from: columns of other names, several data sets, few-shot."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.problems import FAMILIES
from healthcheck.stages.probe.run.folder import load
from tests.support.probes import behaviour, even

pytestmark = pytest.mark.process


def rows(path: Path, *rows_: Mapping[str, object]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_))
    return path


def sums(
    count: int, question: str = "question", answer: str = "answer"
) -> Sequence[Mapping[str, object]]:
    return [
        {question: f"What is {n} plus 1?", answer: f"{n}+1=<<{n}+1={n + 1}>>{n + 1}.\n#### {n + 1}"}
        for n in range(count)
    ]


def turns(server: Simulator) -> list[list[tuple[str, str]]]:
    bodies = [request.body for request in server.requests if request.path.endswith("completions")]
    return [[(turn["role"], turn["content"]) for turn in body["messages"]] for body in bodies]


def probed(server: Simulator, folder: Path, config: str, *words: str) -> int:
    path = folder.parent / "probe.toml"
    path.write_text(config)
    return main(
        [
            "probe",
            server.url,
            "--config",
            str(path),
            "--samples",
            "2",
            "--out",
            str(folder),
            "--quiet",
            *words,
        ]
    )


def test_columns_may_have_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = rows(tmp_path / "mine.jsonl", *sums(10, "prompt", "target"))
    config = f'dataset = "{data}"\ncolumns = {{question = "prompt", answer = "target"}}\n'
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        probed(server, tmp_path / "run", config)
        assert turns(server)[0][0][1].startswith("What is ")
        assert main(["probe", server.url, "--resume", str(tmp_path / "run"), "--quiet"]) in {
            0,
            1,
            3,
        }
        capsys.readouterr()
        assert probed(server, tmp_path / "other", config.replace("target", "gold")) == 2
        assert (
            "no 'gold', the column for answer, in this row (it has prompt, target)"
            in capsys.readouterr().err
        )
        assert probed(server, tmp_path / "other", config.replace("answer =", "anwser =")) == 2
        assert "did you mean answer?" in capsys.readouterr().err
    assert len(load(tmp_path / "run").problems) == 10


def test_several_data_sets_are_one_run_with_a_tier_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = rows(tmp_path / "first" / "test.jsonl", *sums(30))
    second = rows(tmp_path / "second" / "test.jsonl", *sums(8, "q"))
    third = rows(
        tmp_path / "words.jsonl",
        *({"question": f"Word {n}?", "answer": str(n), "tier": "a"} for n in range(9)),
    )
    config = f"""
problems = 24
[[datasets]]
file = "{first}"
problems = 6
[[datasets]]
file = "{second}"
columns = {{question = "q"}}
[[datasets]]
file = "{third}"
"""
    with Simulator(behaviour()) as server:
        probed(server, tmp_path / "run", config)
        sent = len(turns(server))
        assert main(["probe", server.url, "--resume", str(tmp_path / "run"), "--quiet"]) in {
            0,
            1,
            3,
        }
        assert len(turns(server)) == sent == 46
        assert probed(server, tmp_path / "other", f'dataset = "{first}"\n{config}') == 2
        assert "dataset and datasets both name files" in capsys.readouterr().err
        assert probed(server, tmp_path / "other", config.replace("columns =", "colums =")) == 2
        assert "did you mean columns?" in capsys.readouterr().err
    run = load(tmp_path / "run")
    assert [
        sum(problem.tier == tier for problem in run.problems)
        for tier in ("first-test", "second-test", "words/a")
    ] == [6, 8, 9]
    assert len({problem.id for problem in run.problems}) == 23
    kept = json.loads((tmp_path / "run" / "report.json").read_text())["provenance"]["probe"][
        "datasets"
    ]
    assert [(each["problems"], each["columns"]) for each in kept] == [
        (6, {}),
        (9, {"question": "q"}),
        (9, {}),
    ]
    figures = json.loads((tmp_path / "run" / "results" / "metrics.json").read_text())
    assert set(figures["tiers"]) == {"first-test", "second-test", "words/a"}


def test_examples_come_from_the_data_set_and_are_not_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = rows(tmp_path / "plus.jsonl", *sums(20))
    with Simulator(behaviour()) as server:
        probed(
            server,
            tmp_path / "run",
            f'dataset = "{data}"\nfew_shot = 3\nprompt = "Q: {{question}}"',
        )
        asked = turns(server)
        assert main(["probe", server.url, "--resume", str(tmp_path / "run"), "--quiet"]) in {
            0,
            1,
            3,
        }
        assert probed(server, tmp_path / "few", f'dataset = "{data}"\nfew_shot = 20\n') == 2
        assert "too few for few_shot = 20" in capsys.readouterr().err
    shown = {tuple(each[:-1]) for each in asked}
    assert len(shown) == 1
    examples = shown.pop()
    assert [role for role, _ in examples] == ["user", "assistant"] * 3
    for (_, question), (_, answer) in zip(examples[::2], examples[1::2], strict=True):
        number = int(question.removeprefix("Q: What is ").split()[0])
        assert answer == f"{number}+1={number + 1}.\nThe answer is {number + 1}."
    questions = {each[-1][1] for each in asked}
    assert len(questions) == 17
    assert questions.isdisjoint(question for _, question in examples)


def test_pictures_go_with_the_words_around_the_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = f"data:image/png;base64,{base64.b64encode(next(FAMILIES['pictures']('easy', 1)).images[0]).decode()}"
    data = rows(
        tmp_path / "seen.jsonl",
        *({"question": f"Row {n}?", "answer": "4", "image": picture} for n in range(6)),
    )
    config = f'dataset = "{data}"\nsystem = "Look."\nprompt = "See: {{question}}"\n'
    with Simulator(behaviour()) as server:
        probed(server, tmp_path / "run", config)
        system, (role, parts) = turns(server)[0]
        assert probed(server, tmp_path / "other", config + "few_shot = 1\n") == 2
        assert "examples are sent as text alone" in capsys.readouterr().err
    assert (system, role) == (("system", "Look."), "user")
    assert [part["type"] for part in parts] == ["text", "image_url"]
    assert parts[0]["text"].startswith("See: Row ")
    assert parts[1]["image_url"]["url"] == picture


def test_each_of_several_data_sets_has_its_own_examples(tmp_path: Path) -> None:
    first = rows(tmp_path / "plus.jsonl", *sums(10))
    second = rows(
        tmp_path / "words.jsonl", *({"question": f"Word {n}?", "answer": str(n)} for n in range(10))
    )
    config = f'few_shot = 2\ndatasets = [{{file = "{first}"}}, {{file = "{second}"}}]'
    with Simulator(behaviour()) as server:
        probed(server, tmp_path / "run", config)
        for each in turns(server):
            assert len(each) == 5
            assert len({"plus" in content for role, content in each if role == "user"}) == 1


def test_examples_of_a_family_are_other_problems(tmp_path: Path) -> None:
    with Simulator(behaviour()) as server:
        probed(server, tmp_path / "run", "few_shot = 4\nproblems = 12")
        asked = turns(server)
    examples = {content for role, content in asked[0][:-1] if role == "user"}
    assert len(examples) == 4
    assert examples.isdisjoint(each[-1][1] for each in asked)
    assert all(
        content.endswith(".") and "The answer is" in content
        for role, content in asked[0]
        if role == "assistant"
    )


def test_examples_from_a_file_keep_its_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shots = rows(tmp_path / "shots.jsonl", *sums(4))
    with Simulator(behaviour()) as server:
        probed(server, tmp_path / "run", f'few_shot_file = "{shots}"\nfew_shot = 2\nproblems = 6')
        first = turns(server)[0]
        assert [content.split("?")[0] for role, content in first if role == "user"][:2] == [
            "What is 0 plus 1",
            "What is 1 plus 1",
        ]
        assert len(first) == 5
        rows(shots, *sums(4)[::-1])
        assert main(["probe", server.url, "--resume", str(tmp_path / "run")]) == 2
        assert "examples (" in capsys.readouterr().err
        assert probed(server, tmp_path / "other", f'few_shot_file = "{shots}"\nfew_shot = 9') == 2
        assert "has 4 examples, and few_shot asks for 9" in capsys.readouterr().err
