from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies

from healthcheck.detectors import DETECTORS, dominant_script, flags
from healthcheck.probe.problems import FAMILIES, TIERS, generate

HEALTHY = (
    "To find the total, we add the apples that Anna has to those that she picks. 15 + 3 = 18. The answer is 18.",
    "18",
    "7",
    "Yes.",
    "**Step 1:** Multiply 4 by 6 to get 24.\n\n**Step 2:** Add 8, which gives 32.\n\nSo the answer is \\boxed{32}.",
    "小明有15个苹果，又买了3个，所以他现在一共有15+3=18个苹果。答案是18。",
    "我们先算出每盒的数量，然后再乘以盒子的数量。4×6=24，24+8=32，所以最后每个袋子里有8个。",
    "def total(apples: int, more: int) -> int:\n    return apples + more\n\nprint(total(15, 3))  # 18",
    "| day | apples |\n|-----|--------|\n| 1   | 15     |\n| 2   | 18     |\n\nThe table shows that there are 18.",
    "Great question! 🍎🍎🍎 Anna has 15 apples 🧺 and gets 3 more, so she has 18. 🎉",
    "Ответ: 18, потому что 15 + 3 = 18. В итоге у Анны восемнадцать яблок.",
    "答えは18です。リンゴは15個あり、3個もらったので、合計は18個になります。AnnaさんはBenより多いです。",
    "1. Anna starts with 15.\n2. She picks 3 more.\n3. Hence 15 + 3 = 18.\n\n#### 18",
    "<think>\nOkay, so Anna has 15 apples and then she gets 3 more. That makes 18.\n</think>\n\nThe answer is 18.",
    "α + β = γ, and with α = 15 and β = 3 that is γ = 18.",
    "naïve café déjà vu — “18”…",
)  # fmt: skip
BROKEN = (
    ("empty", ""),
    ("empty", "  \n"),
    ("empty", "<think>\nOkay, so Anna has 15 apples"),
    ("empty", "<think>15 + 3</think>"),
    ("constant", "!" * 40),
    ("constant", "! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! !"),
    ("constant", "0101010101010101010101"),
    ("constant", "The" + "!" * 30),
    ("tail_loop", "The answer is 18." * 10),
    ("tail_loop", "First we add. " + "and the English and the " * 6),
    ("tail_loop", "So 18. 然后她又买了三个苹果放进袋子。" + "然后她又买了三个苹果放进袋子。" * 6),
    ("tail_loop", "ok\n" * 40),
    ("compressible", "".join(f"and then the number {n % 3} is the number {n % 3} and so on " for n in range(60)) + "done"),
    ("bad_codepoints", "The ans\ufffd\ufffdwer is \ufffd18 as we see."),
    ("bad_codepoints", "The answer\x00 is\x01 18"),
    ("bad_codepoints", "The \ue000\ue001 answer is 18"),
    ("mixed_scripts", "apple Привет 你好 안녕하세요 สวัสดี مرحبا the שלום ok सेब word"),
    ("implausible_words", "zorp blick frandle queeb snarf plonk wibble grommet yarp floop " * 2 + "drizzle quorp snee glim torv basp hilk dorn " * 2),
)  # fmt: skip


@pytest.mark.parametrize("text", HEALTHY)
def test_sound_texts_set_nothing_off(text: str) -> None:
    assert flags(text) == ()


@pytest.mark.parametrize(("name", "text"), BROKEN)
def test_broken_texts_set_their_detector_off(name: str, text: str) -> None:
    assert name in flags(text)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in {"pictures", "signs"}])
def test_worked_solutions_set_nothing_off(family: str) -> None:
    for tier in TIERS:
        for problem in generate(family, tier, 1, 100):
            assert flags(problem.worked) == ()
            assert flags(problem.question) == ()


@pytest.mark.parametrize(
    ("text", "script"),
    [("The answer is eighteen apples.", "LATIN"), ("小明一共有十八个苹果和三本书。", "CJK"), ("Ответ: восемнадцать", "CYRILLIC"),
     ("18", ""), ("答えはリンゴが十八個になります。", "CJK"), ("", ""), ("苹果苹果苹果苹果 apples apples appl", "LATIN")],
)  # fmt: skip
def test_the_script_of_an_answer_is_told(text: str, script: str) -> None:
    assert dominant_script(text) == script


def test_random_tokens_of_many_scripts_are_seen() -> None:
    draw = random.Random(5)
    ranges = ((0x61, 0x7A), (0x430, 0x44F), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x5D0, 0x5EA), (0xE01, 0xE2E))
    for _ in range(50):
        words = [
            "".join(chr(draw.randint(*draw.choice(ranges))) for _ in range(draw.randint(1, 6))) for _ in range(30)
        ]
        assert "mixed_scripts" in flags(" ".join(words))


@given(text=strategies.text(max_size=500))
@settings(deadline=None)
def test_detectors_take_any_text(text: str) -> None:
    for detector in DETECTORS.values():
        assert detector(text) in {True, False}


@given(piece=strategies.text(min_size=1, max_size=60, alphabet="abcdefgh ,."), start=strategies.text(max_size=30))
def test_any_piece_said_often_enough_is_a_loop(piece: str, start: str) -> None:
    repeats = max(5, 60 // len(piece) + 2)
    text = (start + piece * repeats).rstrip()
    assert len(piece.strip()) == 0 or "tail_loop" in flags(text)
