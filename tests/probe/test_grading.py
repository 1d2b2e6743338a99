from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies

from healthcheck.stages.probe.grading import golds, grade
from healthcheck.stages.probe.grading.grade import FALLBACK, FORM
from healthcheck.stages.probe.grading.numbers import normalise, numbers
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.text.reasoning import final_text
from tests.support.limited import limited


def number_problem(answer: str) -> Problem:
    return Problem(id="x", family="arithmetic", tier="", question="?", answer=answer)


RIGHT = (
    # in the form
    ("18", r"So it is \boxed{18}.", "form"),
    ("18", r"\boxed{12} was wrong, so \boxed{18}", "form"),
    ("18", r"\boxed{18\text{ apples}}", "form"),
    ("18", r"$\boxed{3 \times 6 = 18}$", "form"),
    ("70000", r"\boxed{\$70{,}000}", "form"),
    ("70000", r"\boxed{70\,000}", "form"),
    ("3/4", r"\boxed{\frac{3}{4}}", "form"),
    ("3/4", r"\boxed{\dfrac34}", "form"),
    ("0.75", r"\boxed{\frac{3}{4}}", "form"),
    ("-5", r"\boxed{-5}", "form"),
    ("-3/4", r"\boxed{-\frac{3}{4}}", "form"),
    ("18", r"\fbox{18}", "form"),
    ("18", r"\boxed{18", "form"),
    ("50", r"\boxed{50\%}", "form"),
    ("18", r"The final answer is $\boxed{18}$. I hope it is correct.", "form"),
    ("1234", "so\n#### 1,234", "form"),
    ("18", "#### 18\n\nQuestion: and 7?\n#### 7", "form"),
    ("18", "#### $18.00", "form"),
    ("-18", "#### -18", "form"),
    ("18", "The answer is 18.", "form"),
    ("18", "The answer is: **18**", "form"),
    ("18", "**Answer:** 18", "form"),
    ("18", "**Answer: 18 apples**", "form"),
    ("18", "Answer:\n\n18", "form"),
    ("18", "### Final Answer\nThe answer is \\(18\\).", "form"),
    ("18", "The answer is $x = 18$.", "form"),
    ("18", "The answer is 3 * 6 = 18 apples.", "form"),
    ("18", "The answer is 18 apples for 3 children.", "form"),
    ("18", "The correct answer would be 18.", "fallback"),
    ("18", "The answer to the question is that Anna has 18 apples.", "fallback"),
    ("18", "The answer is 17. Wait, that is wrong. The answer is 18.", "form"),
    ("18", "The answer is 18. Let me check: 20 - 2 = 18, and 3 trees.", "form"),
    ("18", "The answer is not 17, it is 18. The answer is 18", "form"),
    ("70000", "The answer is $70,000.", "form"),
    ("70000", "The answer is 70 000.", "form"),
    ("70000", "The answer is 70'000.", "form"),
    ("70000", "The answer is 70 thousand.", "form"),
    ("70000", "The answer is 70k.", "form"),
    ("1500000", "The answer is $1.5 million.", "form"),
    ("1500000", "The answer is $1.5M.", "form"),
    ("5", "The answer is 5m of rope.", "form"),
    ("70000", "答案是7万。", "form"),
    ("35000", "答案是3万5千元。", "form"),
    ("35000", "答案：3.5万", "form"),
    ("120000000", "答案是1亿2000万。", "form"),
    ("36", "答案是36个苹果。", "form"),
    ("36", "答案为：36", "form"),
    ("36", "所以答案就是 36。", "form"),
    ("36", "最终答案：**36**", "form"),
    ("36", "答：一共有36个。", "fallback"),
    ("36", "答案是３６。", "form"),
    ("-5", "答案是负5。", "form"),
    ("-5", "The answer is −5.", "form"),
    ("-5", "The answer is –5.", "form"),
    ("-5", "The answer is minus 5.", "form"),
    ("-5", "The answer is -$5.", "form"),
    ("-5", "The answer is $-5.", "form"),
    ("1/2", "The answer is 1/2.", "form"),
    ("5/2", "The answer is 2 1/2 cups.", "form"),
    ("5/2", "The answer is 2½.", "form"),
    ("2.5", "The answer is 2.50.", "form"),
    ("50", "The answer is 50%.", "form"),
    ("50", "The answer is 50 percent.", "form"),
    ("0.5", "The answer is 50%.", "form"),
    ("1000", "The answer is 10^3.", "form"),
    ("1000", "The answer is 10³.", "form"),
    ("1500", r"The answer is $1.5 \times 10^{3}$.", "form"),
    ("12", "The answer is approximately 12.", "fallback"),
    ("18", '{"reasoning": "3*6", "answer": 18}', "form"),
    ("18", "<answer>18</answer>", "fallback"),
    ("0", "The answer is 0.", "form"),
    # reasoning and continuations
    ("18", "<think>17? no</think>The answer is 18.", "form"),
    ("18", "17 perhaps\n</think>\n\nThe answer is 18.", "form"),
    ("18", "The answer is 18.\n\nQuestion: what is 7?\nAnswer: The answer is 7.", "form"),
    ("18", "Question: how many?\nThe answer is 18.", "form"),
    # the last number
    ("18", "4*2=8. 8+10=18.", "fallback"),
    ("18", "She has 18 apples.", "fallback"),
    ("18", "18", "fallback"),
    ("70000", "In total $70,000.", "fallback"),
    ("-5", "It is -5 degrees.", "fallback"),
    ("2", "5 - 3 = 2", "fallback"),
    ("36", "一共有36个苹果", "fallback"),
    ("18", "Total: 18.", "fallback"),
)  # fmt: skip
NOT_READ = (
    # numbers in words
    ("35000", "答案是三万五千。"),
    ("36", "答案是三十六。"),
    ("105", "答案是一百零五。"),
    ("-5", "答案是负五。"),
    ("-5", "The answer is negative five."),
    ("18", "The answer is eighteen."),
    ("126", "The answer is one hundred and twenty-six."),
    ("1/2", "The answer is one half."),
    ("50", "答案是百分之五十。"),
    ("1/2", "答案是二分之一。"),
    ("3.5", "答案是三点五。"),
    ("0", "The answer is zero."),
    ("18", "She has eighteen apples."),
    ("36", "一共有三十六个苹果"),
    # not in the form, and another number is the last
    ("12", "The answer is therefore 12 (that is 3 x 4)."),
    ("18", "18. (Checked in 2 ways.)"),
    ("18", "That leaves **18** apples after 3 days."),
    ("18", "**Step 1:** 3*6\n**Step 2:** so **18 apples** remain, as on day 4."),
)  # fmt: skip
"""Right answers that are called wrong: the prompt asks for another form."""


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
    assert graded.strict == (tier == FORM)
    assert graded.form_missed == (tier != FORM)


@pytest.mark.parametrize(("answer", "text"), NOT_READ)
def test_right_answers_in_neither_form_nor_fallback_are_called_wrong(
    answer: str, text: str
) -> None:
    graded = grade(number_problem(answer), text)
    assert not graded.correct
    assert graded.form_missed


@pytest.mark.parametrize(("answer", "text"), WRONG)
def test_wrong_answers_are_not_taken_for_right(answer: str, text: str) -> None:
    assert not grade(number_problem(answer), text).correct


@given(value=strategies.fractions(min_value=-(10**9), max_value=10**9, max_denominator=1000))
def test_fractions_are_read_exactly(value: Fraction) -> None:
    written = (
        f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value.numerator)
    )
    (read_back,) = numbers(written)
    assert read_back.readings[0] == value


@given(
    value=strategies.integers(min_value=-(10**15), max_value=10**15),
    separator=strategies.sampled_from([",", " ", "'", "{,}", "\\,", "\u202f"]),
)
def test_thousands_separators_change_nothing(value: int, separator: str) -> None:
    (read_back,) = numbers(normalise(f"{value:,}".replace(",", separator)))
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


@pytest.mark.parametrize(
    ("text", "tier", "letter"),
    [
        ("【答案】B\n【解析】A错误，C正确但D不对", FORM, "B"),
        ("故选 B。", FORM, "B"),
        ("所以正确选项应为B。", FORM, "B"),
        (r"$\boxed{\textbf{(B)}}$", FORM, "B"),
        ("The correct answer is: **B) London**", FORM, "B"),
        ("The answer is London.", FORM, "B"),
        ("The correct answer is B.\n\nA is in France. D is in Germany.", FORM, "B"),
        ("Thus, (B) is correct.", FALLBACK, "B"),
        ("The answer is A or B.", "", ""),
        ("答案是A和B。", "", ""),
        ("The answer is not B.", "", ""),
        ("A\n\nBut no, I choose B.", "", ""),
        ("A. first\nB. second", "", ""),
    ],
)
def test_a_letter_is_read_in_the_form_else_as_the_last_one(
    text: str, tier: str, letter: str
) -> None:
    problem = Problem(
        id="x",
        family="mcq",
        tier="",
        question=CAPITALS,
        answer="B",
        kind=AnswerKind.CHOICE,
        letters="ABCD",
    )
    graded = grade(problem, text)
    assert (graded.tier, graded.extracted) == (tier, letter)
    assert graded.correct == (letter == "B")


CAPITALS = "Which?\nA. Paris\nB. London\nC. Rome\nD. Berlin"


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        ("B", "A\n\nParis is the capital. London is option B.", False),
        ("B", "选项A正确，B、C、D错误。", False),
        ("A", "A正确，B也正确。", False),
        ("A", "A\nB", False),
        ("A", "A. Paris\nB. London\nC. Rome\nD. Berlin", False),
        ("A", "A\n\nBut no, I choose B.", False),
        ("A", "A\n\nI would go with C.", False),
        ("Paris", "Paris\n\nLondon", False),
        ("Paris", "Paris\n\nHowever, the seat of the government is Lyon.", False),
        ("是", "不是的。", False),
        ("巴黎", "巴黎是错误的。", False),
        ("5", "The answer is 5π.", False),
        ("5", r"The answer is 5\pi.", False),
        ("5", "The answer is 5x", False),
        ("5", "The answer is log 5.", False),
        ("5", "The answer is 5:30.", False),
        ("5", "The answer is 5 m.", True),
        ("5", "The answer is 5, i.e. five.", True),
        # right, but in no form, and not in the last line or letter
        ("A", "A\n\nParis is the capital. London is option B.", False),
        ("A", "A. Paris\n\nLondon, in B, is the capital of England.", False),
        ("A", "选项A正确，B、C、D错误。", False),
        ("Paris", "Paris\n\nThe city lies on the Seine.", False),
        ("Paris", "Paris\n\nExplanation: London is in England.", False),
        ("no", "No, it isn't.", False),
        ("是", "是的。", False),
        ("巴黎", "**巴黎**是法国的首都。", False),
    ],
)
def test_the_form_or_the_last_letter_or_line_is_read_and_no_part_of_an_expression(
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
        "from healthcheck.stages.probe.grading.choices import last_letter, stated_letter\n"
        "for read in (last_letter, stated_letter):\n"
        "    for end in ('B', 'x B'):\n"
        "        few, many = (read('A' + ', or ' * n + end, 'AB') for n in (3, 60))\n"
        "        assert few == many, (few, many)\n"
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
        ("The capital is:\n**Paris**", "Paris", True),
        # right, but emphasis is no form
        ("这首诗的作者是唐代诗人**李白**，他字太白。", "李白", False),
    ],
)
def test_words_in_bold_are_no_answer_unless_they_are_the_last_line(
    answer: str, expected: str, right: bool
) -> None:
    problem = Problem(
        id="x", family="qa", tier="", question="?", answer=expected, kind=AnswerKind.PHRASE
    )
    assert grade(problem, answer).correct == right


def test_a_number_in_bold_with_the_unit_of_the_right_answer_is_read_as_the_last_number() -> None:
    answer = "The area that the fence encloses measures **50 m²** in total."
    assert grade(number_problem("50 m^2"), answer).correct


@pytest.mark.parametrize(
    ("text", "tier", "correct"),
    [
        ("The answer is 17. The answer is 18.", FORM, True),
        (r"The answer is 17, \boxed{18}", FORM, True),
        ("The answer is 17. Wait, that is wrong: 18.", "", False),
        ("答案是18。不对，应该是17。", "", False),
        ("The answer is 18. Check: 20 - 2 = 18, and 3 trees.", FORM, True),
        ("The answer is 3 * 6 = 18.", FORM, True),
        ("The answer is 2 hours 18 minutes.", "", False),
        ("It is 18 or 19.", "", False),
        ("Is it 18?", "", False),
        ("It is not 18.", "", False),
        ("3 * 6 =", "", False),
        (r"\boxed{x > 18}", "", False),
        (r"\boxed{\pm 18}", "", False),
        ("The answer is 18 to 20.", FALLBACK, False),
        ("It rose from 12 to 18.", FALLBACK, True),
    ],
)
def test_the_last_match_of_the_form_counts_else_the_last_number(
    text: str, tier: str, correct: bool
) -> None:
    graded = grade(number_problem("18"), text)
    assert (graded.tier, graded.correct) == (tier, correct)
    assert graded.strict == (correct and tier == FORM)
    assert grade(number_problem("18"), "So 18.").tier == FALLBACK


@pytest.mark.parametrize(
    ("gold", "text", "right"),
    [
        ("18 km", "The answer is 18.", True),
        ("18 km", "The answer is 18000 m.", True),
        ("18 km", "The answer is 18 m.", False),
        ("$18", "The answer is 18 cents.", False),
        ("$18", "The answer is 18 dollars.", True),
        ("18", "The answer is 18 m.", True),
        ("18", "The answer is 0.018 km.", False),
    ],
)
def test_a_unit_is_compared_if_the_right_answer_has_one(gold: str, text: str, right: bool) -> None:
    assert grade(number_problem(gold), text).correct is right
