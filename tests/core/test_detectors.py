from __future__ import annotations

import base64
import json
import random

import pytest
from hypothesis import given, settings, strategies

from healthcheck.stages.probe.problems import FAMILIES, TIERS, generate
from healthcheck.text.degenerate import (
    DETECTORS,
    ENDING_DETECTORS,
    breaks_off,
    dominant_script,
    flags,
)
from tests.support.answers import labelled

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
    "Il prend « un thé\xa0» et « un café\xa0» au CAFÉ… puis un troisième, « l’été\xa0» : 18.",
    "▁▂▃▄▅▆▇█ and 18",
    "Ġorġ and Ċetta have 18.",
    "-" * 72,
    "Result\n" + "=" * 80 + "\n18",
    "| step | value |\n|" + "-" * 90 + "|" + "-" * 90 + "|\n| 1 | 18 |",
    "🍎" * 18,
    "🍎🍎🍎🍎🍎 and 🍎🍎🍎🍎🍎🍎🍎🍎🍎🍎🍎🍎🍎",
    "The answer is 18. " * 6,
    "4 is is is is is is is is is is is is is is is is",
    "1/3 = 0.3333333333333333",
    "1011011000101101010110",
    "0 0 0 0 0 0\n" * 6,
    "[[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]",
    r"\begin{pmatrix} 0 & 0 & 0 & 0 \\ 0 & 0 & 0 & 0 \\ 0 & 0 & 0 & 0 \\ 0 & 0 & 0 & 1 \end{pmatrix}",
    r"\[ \sum_{i=1}^{n} i = \frac{n(n+1)}{2} \quad\Rightarrow\quad \sum_{i=1}^{5} i = \frac{5 \cdot 6}{2} = 15 \]",
    json.dumps([{"id": n, "name": f"item {n}", "price": 3 * n, "in_stock": n % 3 == 0} for n in range(60)], indent=2),
    base64.b64encode(bytes(range(256)) * 3 + bytes(range(0, 256, 7))).decode(),
    "Hello: 你好 (Chinese), こんにちは (Japanese), Привет (Russian), مرحبا (Arabic), שלום (Hebrew), नमस्ते (Hindi).",
    "- Русский: Здравствуйте\n- 中文：您好\n- 한국어: 안녕하세요\n- العربية: السلام عليكم\n- ไทย: สวัสดี\n- English: Good day",
    ("Wir addieren zuerst die Äpfel, die Anna schon hat, und dann jene, die sie später pflückt; damit erhalten wir "
    "insgesamt achtzehn Äpfel, von denen sie anschließend sechs an ihren Bruder weitergibt, bevor sie nach Hause geht."),
    ("Anna avait quinze pommes au départ, puis elle en cueille trois autres dans le verger; il lui en reste donc "
    "dix-huit au total, qu'elle partage ensuite avec son frère avant de rentrer chez elle pour le dîner du soir."),
    ("Bài toán này khá đơn giản: ban đầu Anna có mười lăm quả táo, sau đó cô ấy hái thêm ba quả nữa, vì vậy tổng cộng "
    "cô ấy có mười tám quả táo để chia cho em trai và các bạn của mình ở trường."),
    "小明原來有十五個蘋果，後來又買了三個，所以總共有十八個蘋果，請問他還要再買多少個才能平均分給六位同學呢？答案是零個。",
    "\x1b[1mBold\x1b[0m answer: 18\x0c",
    "The file holds one private sign, \ue000, which stands for a logo.",
)  # fmt: skip
BROKEN = (
    ("undecoded", "The▁answer▁is▁18."),
    ("undecoded", "TheĠanswerĠis 18."),
    ("undecoded", "15 + 3 = 18.ĊThe answer is 18."),
    ("undecoded", "15 + 3 = 18.<0x0A>The answer is 18."),
    ("undecoded", "\\u7b54\\u6848\\u662f 18"),
    ("undecoded", "守塔人".encode().decode("latin-1")),
    ("undecoded", "守塔人".encode().decode("cp1252", "ignore")),
    ("undecoded", "un café, un thé, l'été".encode().decode("cp1252")),
    ("empty", ""),
    ("empty", "  \n"),
    ("empty", "<think>\nOkay, so Anna has 15 apples"),
    ("empty", "<think>15 + 3</think>"),
    ("constant", "!" * 40),
    ("constant", "! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! ! !"),
    ("constant", "哈" * 40),
    ("constant", "0101010101" * 20),
    ("constant", "0 " * 160),
    ("constant", "." * 150),
    ("constant", "So 18.\n" + "-" * 600),
    ("constant", "The" + "!" * 30),
    ("tail_loop", "The answer is 18." * 10),
    ("tail_loop", "First we add. " + "and the English and the " * 6),
    ("tail_loop", "So 18. 然后她又买了三个苹果放进袋子。" + "然后她又买了三个苹果放进袋子。" * 6),
    ("tail_loop", "ok\n" * 40),
    ("tail_loop", "Anna has 15 apples and picks 3 more, so that there are 18 of them in all." + "!" * 60),
    ("tail_loop", "Then " + "0, 1, 2, " * 60),
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


@pytest.mark.parametrize(
    "text", [text for text in HEALTHY if " is is " not in text and text != "The answer is 18. " * 6]
)
def test_neither_do_they_where_max_tokens_cut_them(text: str) -> None:
    for end in range(20, len(text), 7):
        assert flags(text[:end], cut=True) == ()


@pytest.mark.parametrize(("name", "text"), BROKEN)
def test_broken_texts_set_their_detector_off(name: str, text: str) -> None:
    assert name in flags(text, cut=name != "empty")


@pytest.mark.parametrize(
    "text", ["The answer is 18. " * 40, "so it is " * 60, "!" * 40, "-" * 5000, "0 1 " * 1000]
)
def test_what_no_model_says_is_seen_however_it_ended(text: str) -> None:
    assert flags(text)


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "pictures"])
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
    ranges = (
        (0x61, 0x7A),
        (0x430, 0x44F),
        (0x4E00, 0x9FA5),
        (0xAC00, 0xD7A3),
        (0x5D0, 0x5EA),
        (0xE01, 0xE2E),
    )
    for _ in range(50):
        words = [
            "".join(chr(draw.randint(*draw.choice(ranges))) for _ in range(draw.randint(1, 6)))
            for _ in range(30)
        ]
        assert "mixed_scripts" in flags(" ".join(words))


@given(text=strategies.text(max_size=500))
@settings(deadline=None)
def test_detectors_take_any_text(text: str) -> None:
    for detector in DETECTORS.values():
        assert detector(text) in {True, False}
    for cut in (True, False):
        for ending in ENDING_DETECTORS.values():
            assert ending(text, cut) in {True, False}


@given(
    piece=strategies.text(min_size=1, max_size=60, alphabet="abcdefgh ,."),
    start=strategies.text(max_size=30),
)
def test_any_piece_said_often_enough_is_a_loop(piece: str, start: str) -> None:
    repeats = max(5, 60 // len(piece) + 2)
    text = (start + piece * repeats).rstrip()
    lettered = any(character.isalpha() for character in piece)
    assert not lettered or "tail_loop" in flags(text, cut=True)
    assert not piece.strip(" ,.") or "tail_loop" in flags(start + piece * 400)


@pytest.mark.parametrize(
    "text",
    [
        *(text for text in HEALTHY if not text.endswith(" is is")),
        "The interval is (-2, 5].",
        "Es sind $]0, 1[$ und damit alle Zahlen dazwischen",
        "The set is [0, \\infty)",
        "That is what the others are there for. The rest is what it starts with",
        "- apples: 15\n- pears: 3\n- **in all**: **18**",
        "```python\nprint(15 + 3)\n```",
        "I would use C++",
        "小明一共有18个苹果",
        "这两个数的和",
        "是",
        "Of the two it is option I",
        "The answer is A",
        "a) first 15, b) then 3, c) 18 in all :)",
        "She pays 5 + 3 = $8",
        '{"answer": 18}',
        "Done! 🎉",
    ],
)
def test_a_complete_text_does_not_break_off(text: str) -> None:
    assert not breaks_off(text)


@pytest.mark.parametrize(
    "text",
    [
        "Anna has 15 apples in the basket, and her brother brings some more of the",
        "So we have to add them: 15 +",
        "First the pears,",
        "The answer is \\boxed{1",
        "She sells them (16 - 3 eggs",
        "The program is:\n```python\nprint(15",
        "小明有15个苹果，他又买了3个，所以我们",
        "<think>15 and 3</think>\nThe number of all apples is",
    ],
)
def test_a_text_that_breaks_off_is_seen(text: str) -> None:
    assert breaks_off(text)


def test_no_complete_answer_of_the_corpus_breaks_off() -> None:
    complete = [each.text for each in labelled() if each.label != "none" and not each.cut]
    assert len(complete) > 900
    assert not [text for text in complete if breaks_off(text)]
