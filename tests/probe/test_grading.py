from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies

from healthcheck.stages.probe.grading import golds, grade, phrases
from healthcheck.stages.probe.grading.numbers import normalise
from healthcheck.stages.probe.grading.quantities import quantities
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.text.reasoning import final_text
from tests.support.limited import limited


def number_problem(answer: str) -> Problem:
    return Problem(id="x", family="arithmetic", tier="", question="?", answer=answer)


RIGHT = (
    # marked answers
    ("18", r"So it is \boxed{18}.", "boxed"),
    ("18", r"\boxed{12} was wrong, so \boxed{18}", "boxed"),
    ("18", r"\boxed{18\text{ apples}}", "boxed"),
    ("18", r"$\boxed{3 \times 6 = 18}$", "boxed"),
    ("70000", r"\boxed{\$70{,}000}", "boxed"),
    ("70000", r"\boxed{70\,000}", "boxed"),
    ("3/4", r"\boxed{\frac{3}{4}}", "boxed"),
    ("3/4", r"\boxed{\dfrac34}", "boxed"),
    ("0.75", r"\boxed{\frac{3}{4}}", "boxed"),
    ("-5", r"\boxed{-5}", "boxed"),
    ("-3/4", r"\boxed{-\frac{3}{4}}", "boxed"),
    ("18", r"\fbox{18}", "boxed"),
    ("18", r"\boxed{18", "boxed"),
    ("50", r"\boxed{50\%}", "boxed"),
    ("18", r"The final answer is $\boxed{18}$. I hope it is correct.", "boxed"),
    ("1234", "so\n#### 1,234", "hashes"),
    ("18", "#### 18\n\nQuestion: and 7?\n#### 7", "hashes"),
    ("18", "#### $18.00", "hashes"),
    ("-18", "#### -18", "hashes"),
    ("18", "The answer is 18.", "cue"),
    ("18", "The answer is: **18**", "cue"),
    ("18", "**Answer:** 18", "cue"),
    ("18", "**Answer: 18 apples**", "cue"),
    ("18", "Answer:\n\n18", "cue"),
    ("18", "### Final Answer\nThe answer is \\(18\\).", "cue"),
    ("18", "The answer is $x = 18$.", "cue"),
    ("18", "The answer is 3 * 6 = 18 apples.", "cue"),
    ("18", "The answer is 18 apples for 3 children.", "cue"),
    ("18", "The correct answer would be 18.", "cue"),
    ("18", "The answer to the question is that Anna has 18 apples.", "cue"),
    ("18", "The answer is 17. Wait, that is wrong. The answer is 18.", "cue"),
    ("18", "The answer is 18. Let me check: 20 - 2 = 18, and 3 trees.", "cue"),
    ("18", "The answer is not 17, it is 18. The answer is 18", "cue"),
    ("70000", "The answer is $70,000.", "cue"),
    ("70000", "The answer is 70 000.", "cue"),
    ("70000", "The answer is 70'000.", "cue"),
    ("70000", "The answer is 70 thousand.", "cue"),
    ("70000", "The answer is 70k.", "cue"),
    ("1500000", "The answer is $1.5 million.", "cue"),
    ("1500000", "The answer is $1.5M.", "cue"),
    ("5", "The answer is 5m of rope.", "cue"),
    ("70000", "答案是7万。", "cue"),
    ("35000", "答案是3万5千元。", "cue"),
    ("35000", "答案：3.5万", "cue"),
    ("35000", "答案是三万五千。", "cue"),
    ("120000000", "答案是1亿2000万。", "cue"),
    ("36", "答案是36个苹果。", "cue"),
    ("36", "答案为：36", "cue"),
    ("36", "所以答案就是 36。", "cue"),
    ("36", "最终答案：**36**", "cue"),
    ("36", "答：一共有36个。", "cue"),
    ("36", "答案是三十六。", "cue"),
    ("105", "答案是一百零五。", "cue"),
    ("36", "答案是３６。", "cue"),
    ("-5", "答案是负5。", "cue"),
    ("-5", "答案是负五。", "cue"),
    ("-5", "The answer is −5.", "cue"),
    ("-5", "The answer is –5.", "cue"),
    ("-5", "The answer is minus 5.", "cue"),
    ("-5", "The answer is negative five.", "cue"),
    ("-5", "The answer is -$5.", "cue"),
    ("-5", "The answer is $-5.", "cue"),
    ("18", "The answer is eighteen.", "cue"),
    ("126", "The answer is one hundred and twenty-six.", "cue"),
    ("1/2", "The answer is one half.", "cue"),
    ("1/2", "The answer is 1/2.", "cue"),
    ("5/2", "The answer is 2 1/2 cups.", "cue"),
    ("5/2", "The answer is 2½.", "cue"),
    ("2.5", "The answer is 2.50.", "cue"),
    ("50", "The answer is 50%.", "cue"),
    ("50", "The answer is 50 percent.", "cue"),
    ("0.5", "The answer is 50%.", "cue"),
    ("50", "答案是百分之五十。", "cue"),
    ("1/2", "答案是二分之一。", "cue"),
    ("3.5", "答案是三点五。", "cue"),
    ("1000", "The answer is 10^3.", "cue"),
    ("1000", "The answer is 10³.", "cue"),
    ("1500", r"The answer is $1.5 \times 10^{3}$.", "cue"),
    ("12", "The answer is approximately 12.", "cue"),
    ("12", "The answer is therefore 12 (that is 3 x 4).", "cue"),
    ("18", '{"reasoning": "3*6", "answer": 18}', "cue"),
    ("18", "<answer>18</answer>", "cue"),
    ("0", "The answer is 0.", "cue"),
    ("0", "The answer is zero.", "cue"),
    # reasoning and continuations
    ("18", "<think>17? no</think>The answer is 18.", "cue"),
    ("18", "17 perhaps\n</think>\n\nThe answer is 18.", "cue"),
    ("18", "The answer is 18.\n\nQuestion: what is 7?\nAnswer: The answer is 7.", "cue"),
    ("18", "Question: how many?\nThe answer is 18.", "cue"),
    # numbers that nothing marks
    ("18", "4*2=8. 8+10=18.", "last"),
    ("18", "She has 18 apples.", "last"),
    ("18", "18", "last"),
    ("18", "18. (Checked in 2 ways.)", "last"),
    ("18", "That leaves **18** apples after 3 days.", "emphasis"),
    ("18", "**Step 1:** 3*6\n**Step 2:** so **18 apples** remain, as on day 4.", "emphasis"),
    ("18", "She has eighteen apples.", "last"),
    ("70000", "In total $70,000.", "last"),
    ("-5", "It is -5 degrees.", "last"),
    ("2", "5 - 3 = 2", "last"),
    ("36", "一共有36个苹果", "last"),
    ("36", "一共有三十六个苹果", "last"),
    ("18", "Total: 18.", "last"),
)  # fmt: skip
WRONG = (
    ("18", "The answer is 81."),
    ("18", "The answer is 18.5."),
    ("18", "The answer is 118."),
    ("18", "The answer is -18."),
    ("-18", "The answer is 18."),
    ("234", "The answer is 1,234."),
    ("0", "The answer is 70,000."),
    ("18", "18 is what one may think, but the answer is 17."),
    ("18", "<think>The answer is 18."),
    ("18", "<think>The answer is 18.</think>"),
    ("18", ""),
    ("18", "I cannot tell."),
    ("18", "The answer is not 18."),
    ("18", r"18 \boxed{17}"),
    ("18", "The answer is 17.\n\nQuestion: what else?\nThe answer is 18."),
    ("5", "It is -5."),
    ("5", "答案是负5。"),
    ("3", "The answer is 3/4."),
    ("4", "The answer is 3/4."),
    ("70", "The answer is 70 thousand."),
    ("7", "答案是7万。"),
    ("12", "The answer is 1/2."),
    ("10", "The answer is 10^3."),
    ("2", "H2O"),
    ("18", "1 8"),
    ("0.5", "The answer is 50."),
)


@pytest.mark.parametrize(("answer", "text", "tier"), RIGHT)
def test_right_answers_are_found(answer: str, text: str, tier: str) -> None:
    graded = grade(number_problem(answer), text)
    assert graded.correct, graded
    assert graded.tier == tier
    assert graded.strict == (tier in {"boxed", "hashes", "cue"})


@pytest.mark.parametrize(("answer", "text"), WRONG)
def test_wrong_answers_are_not_taken_for_right(answer: str, text: str) -> None:
    assert not grade(number_problem(answer), text).correct


@given(value=strategies.fractions(min_value=-(10**9), max_value=10**9, max_denominator=1000))
def test_fractions_are_read_exactly(value: Fraction) -> None:
    written = (
        f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value.numerator)
    )
    (read_back,) = quantities(written)
    assert read_back.readings[0] == value


@given(
    value=strategies.integers(min_value=-(10**15), max_value=10**15),
    separator=strategies.sampled_from([",", " ", "'", "{,}", "\\,", "\u202f"]),
)
def test_thousands_separators_change_nothing(value: int, separator: str) -> None:
    (read_back,) = quantities(normalise(f"{value:,}".replace(",", separator)))
    assert read_back.readings == (value,)


@given(value=strategies.integers(min_value=0, max_value=10**8))
def test_chinese_numerals_are_read_as_they_are_written(value: int) -> None:
    (read_back,) = quantities(chinese(value))
    assert read_back.readings == (value,)


@given(text=strategies.text(max_size=300))
@settings(deadline=None)
def test_no_text_breaks_the_grader(text: str) -> None:
    grade(number_problem("18"), text)
    final_text(text)


@pytest.mark.parametrize(
    "piece",
    [
        "9",
        "1,",
        "1 ",
        "-",
        "\\boxed{",
        "the answer is ",
        "一",
        "one ",
        "(a ",
        "**1",
        "1/2 ",
        "<think>",
    ],
)
def test_long_loops_take_no_time_that_grows_without_bound(piece: str) -> None:
    grade(number_problem("18"), piece * (200_000 // len(piece)))


def chinese(value: int) -> str:
    """The usual way of writing a whole number below a hundred million and one, independent of the reader."""
    if value == 0:
        return "零"
    if value == 10**8:
        return "一亿"
    high, low = divmod(value, 10_000)
    if not high:
        return section(low)
    gap = "零" if low and low < 1000 else ""
    return f"{section(high)}万{gap}{section(low) if low else ''}"


def section(value: int) -> str:
    text, pending = "", False
    for place, name in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // place % 10
        if digit:
            text += ("零" if pending and text else "") + "零一二三四五六七八九"[digit] + name
            pending = False
        else:
            pending = bool(text)
    return text


CAPITALS = "Which?\nA. Paris\nB. London\nC. Rome\nD. Berlin"


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        ("A", "A\n\nParis is the capital. London is option B.", True),
        ("B", "A\n\nParis is the capital. London is option B.", False),
        ("A", "A. Paris\n\nLondon, in B, is the capital of England.", True),
        ("A", "选项A正确，B、C、D错误。", True),
        ("B", "选项A正确，B、C、D错误。", False),
        ("A", "A正确，B也正确。", False),
        ("A", "A\nB", False),
        ("A", "A. Paris\nB. London\nC. Rome\nD. Berlin", False),
        ("A", "A\n\nBut no, I choose B.", False),
        ("A", "A\n\nI would go with C.", False),
        ("Paris", "Paris\n\nThe city lies on the Seine.", True),
        ("Paris", "Paris\n\nExplanation: London is in England.", True),
        ("Paris", "Paris\n\nLondon", False),
        ("Paris", "Paris\n\nHowever, the seat of the government is Lyon.", False),
        ("no", "No, it isn't.", True),
        ("是", "是的。", True),
        ("是", "不是的。", False),
        ("巴黎", "**巴黎**是法国的首都。", True),
        ("巴黎", "巴黎是错误的。", False),
        ("5", "The answer is 5π.", False),
        ("5", r"The answer is 5\pi.", False),
        ("5", "The answer is 5x", False),
        ("5", "The answer is log 5.", False),
        ("5", "The answer is 5:30.", False),
        ("5", "The answer is 5 m.", True),
        ("5", "The answer is 5, i.e. five.", True),
    ],
)
def test_an_answer_may_stand_first_and_a_part_of_an_expression_is_none(
    gold: str, text: str, right: bool
) -> None:
    letters = "ABCD" if gold in {"A", "B"} else ""
    kind = AnswerKind.CHOICE if letters else golds.kind_of(gold)
    problem = Problem(
        id="x",
        family="qa",
        tier="",
        question=CAPITALS if letters else "?",
        answer=gold,
        kind=kind,
        letters=letters,
    )
    assert grade(problem, text).correct is right


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", [AnswerKind.NUMBER, AnswerKind.CHOICE, AnswerKind.PHRASE])
@pytest.mark.parametrize("gap", ["\n", " ", "\t", "\n ", "\u3000", "# \n"])
def test_a_long_gap_in_an_answer_costs_no_time(kind: AnswerKind, gap: str) -> None:
    answer = "B" if kind is AnswerKind.CHOICE else "18"
    question = "Which?\nA. one\nB. two" if kind is AnswerKind.CHOICE else "?"
    problem = Problem(
        id="x", family="f", tier="", question=question, answer=answer, kind=kind, letters="AB"
    )
    for text in (
        f"The answer is {gap * 100_000}!x",
        f"It is{gap * 100_000}\nQuestion{gap * 100_000}",
    ):
        assert not grade(problem, text).correct
    assert grade(problem, f"{gap * 100_000}{answer}").correct


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit", ["1,", "1", "1.", "½", "1 m ", "-", "一", "one ", "$", "1/", "(", "or "]
)
def test_a_right_answer_of_any_length_is_read_in_time(unit: str) -> None:
    assert golds.kind_of(unit * 100_000) is AnswerKind.PHRASE
    for text in (unit * 100_000, f"The answer is {unit * 100_000}"):
        assert not grade(number_problem("18"), text).correct
    assert grade(number_problem("18"), f"{unit * 100_000}\n#### 18").correct


@pytest.mark.process
def test_a_long_row_of_separators_between_two_letters_is_read_in_time():
    code = (
        "from healthcheck.stages.probe.grading.choices import choice\n"
        "for end in ('B', 'x B'):\n"
        "    few, many = (choice('The answer is A' + ', or ' * n + end, 'AB', {}) for n in (3, 60))\n"
        "    assert few == many, (few, many)\n"
    )
    done = limited("-c", code, cpu_s=20)
    assert done.returncode == 0, done.stderr[-500:]


EQUAL = """
1 t = 1000 kg; 1 kg = 1000 g; 1 g = 1000 mg; 1 km = 1000 m; 1 m = 100 cm; 1 cm = 10 mm; 1 yd = 3 ft; 1 ft = 12 in
1 lb = 16 oz; 1 l = 1000 ml; 1 week = 7 days; 1 day = 24 hours; 1 hour = 60 min; 1 min = 60 s; 1 dollar = 100 cents
1 元 = 10 角; 1 角 = 10 分钱
"""


def test_one_quantity_in_another_unit_is_the_same() -> None:
    pairs = [pair.split(" = ") for pair in EQUAL.strip().replace("\n", "; ").split("; ")]
    other = [
        (one, two)
        for one, two in pairs
        if not grade(number_problem(one), f"The answer is {two}.").correct
    ]
    assert len(pairs) == 17
    assert other == []


@pytest.mark.parametrize(
    ("answer", "expected", "right"),
    [
        ("这首诗的作者是唐代诗人**李白**，他字太白。", "李白", True),
        ("The area that the fence encloses measures **50 m²** in total.", "50 m^2", True),
        ("**Paris** is not the capital; Lyon is.", "Paris", False),
        ("Lyon is the capital now.\n\n**Paris** lost that role in 1950.", "Paris", False),
        ("The correct option is Lyon; many people confuse it with **Paris**.", "Paris", False),
        ("**Lyon** is the answer (see **Paris** for the old one)", "Paris", False),
        ("**Paris** was it until 1950. Now Lyon is.", "Paris", False),
        ("The capital is **Paris** no more.", "Paris", False),
        ("It was written by Du Fu, not by **Li Bai**.", "Li Bai", False),
        ("First I thought of **Paris**. But the capital is Lyon.", "Paris", False),
        ("**Berlin** or **Paris** fits.", "Paris", False),
        ("Could it be **Paris**?", "Paris", False),
    ],
)
def test_the_last_words_in_bold_are_an_answer_unless_denied(
    answer: str, expected: str, right: bool
) -> None:
    found = phrases.said(answer, expected)
    assert (found is not None and found.text == phrases.same(expected)) == right
