"""TextVQA in the client's manner: ten persons' answers, a soft score, and a report of it that is read."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path

import pytest

from healthcheck.stages.probe.aisbench.textvqa import Reference, client_soft
from tests.support.aisbench import ENVIRONMENT

PREDICTIONS = "predictions/vllm-api-stream-chat/gsm8k.jsonl"
SCORE = (
    "import json, sys\n"
    "from ais_bench.benchmark.datasets.textvqa import TEXTEvaluator\n"
    "cases = json.load(open(sys.argv[1]))\n"
    "scores = [TEXTEvaluator().score([text], [refs]) for text, refs in cases]\n"
    "json.dump([[s['accuracy'], s['details'][0]['correct']] for s in scores], open(sys.argv[2], 'w'))\n"
)


def persons(*answers: str) -> tuple[Reference, ...]:
    return tuple(
        Reference(identity=str(place), answer=answer) for place, answer in enumerate(answers)
    )


@pytest.mark.parametrize(
    ("matches", "score"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0), (10, 1.0)]
)
def test_the_scores_of_the_reference(matches: int, score: float) -> None:
    others = [f"other{place}" for place in range(10 - matches)]
    assert client_soft("Stop\n", persons(*["stop"] * matches, *others))[1] == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "references", "score"),
    [
        (
            "the two dogs!",
            ["2 dogs", "2 dogs", "2 dogs", "2 dogs", "cat"],
            1.0,
        ),  # articles, numbers, punctuation
        ("stop", ["STOP"] * 5, 0.0),  # a capital of a reference never matches
        ("v1.2", ["v1.2"] * 5, 1.0),  # a full stop inside a number stays
        ("Dont walk", ["don't walk"] * 5, 1.0),  # it mends the prediction
        ("dont walk", ["dont walk"] * 5, 0.0),  # and the prediction only
        ("Im ok", ["im ok"] * 5, 1.0),  # contractions with a capital it never finds
        ("yall'd've", ["y'all'd've"] * 5, 1.0),
        ("somebody'd", ["somebodyd"] * 5, 1.0),
        ("stop", [], 0.0),
        ("x" * 40_000, ["x"] * 5, 0.0),
    ],
)
def test_what_the_client_reads(text: str, references: list[str], score: float) -> None:
    assert client_soft(text, persons(*references))[1] == pytest.approx(score)


def test_equal_references_without_numbers_are_no_others_to_each_other() -> None:
    assert client_soft("stop", (Reference(identity="", answer="stop"),) * 10)[1] == 0.0


def contraction(draw: random.Random) -> str:
    """A word that English might contract, with any of its apostrophes, in lower case or not."""
    stems = "i you he she it we they that there who what where when why how some someone somebody let y'all ow's"
    verbs = "ai are ca could did do had has is might must need not ought sha should was wo would"
    said = draw.choice(
        [draw.choice(stems.split()) + draw.choice(["'s", "'d", "'ll", "'re", "'ve", "'d've", "'m", "'at", ""]),
         draw.choice(verbs.split()) + draw.choice(["n't", "'ve", "n't've", "s"]),
         draw.choice(["ma'am", "o'clock", "'twas", "y'all'll", "y'all'd've", "'ow's'at", "someone'd"])]
    )  # fmt: skip
    kept = "".join(sign for sign in said if sign != "'" or draw.random() < 0.5)
    return draw.choice([kept, kept, kept.capitalize(), f"they {kept} go", f"{kept}!"])


@pytest.mark.peer
@pytest.mark.timeout(300)
def test_the_clients_own_grader_gives_the_same_scores(tmp_path: Path) -> None:
    draw = random.Random(7)
    plain = ["red", "The bus", "two", "10", "3,500", "stop.", "STOP", "no-smoking", "exit!", "24/7", "u.s.a", "v1.2",
             "none", "(c)", "x , y", "a - b", "12.", "an apple", "7up\n", "<unk>hi", "tab\tbed"]  # fmt: skip
    words = [*plain, *(contraction(draw) for _ in range(150))]
    cases = []
    for _ in range(3000):
        pool = draw.sample(words, draw.randint(1, 3))
        pool += [word.replace("'", "") for word in pool]
        numbered = draw.random() < 0.7
        refs = [
            {"answer": draw.choice(pool), **({"answer_id": place} if numbered else {})}
            for place in range(draw.randint(1, 10))
        ]
        cases.append((draw.choice([*pool, pool[0].lower(), draw.choice(words)]), refs))
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    paths = [str(tmp_path / name) for name in ("cases.json", "scores.json")]
    subprocess.run([ENVIRONMENT / "bin/python", "-c", SCORE, *paths], check=True, cwd=tmp_path)
    theirs = json.loads((tmp_path / "scores.json").read_text())
    for (text, refs), (accuracy, correct) in zip(cases, theirs, strict=True):
        given = tuple(
            Reference(identity=str(ref.get("answer_id")), answer=ref["answer"]) for ref in refs
        )
        score = client_soft(text, given)[1]
        assert (100 * score, score > 0.5) == (pytest.approx(accuracy), correct), (text, refs)
