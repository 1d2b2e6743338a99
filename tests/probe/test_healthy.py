"""What healthy models do that looks odd is no fault, and garbage is one whatever it looks like."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.extensions.simulator.manners import Manner
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.problems import AnswerKind
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings, RequestOptions, Sample
from healthcheck.stages.probe.run.folder import load
from tests.support.probes import QUICK, SETTINGS, Probe, behaviour, even, recorded, rewritten

pytestmark = pytest.mark.process

Change = Callable[[Sample], Sample]
LOOP = (
    "Anna has 15 apples. Then she picks some more of them, and so we add. "
    + "So we add them up. " * 60
)
WORDS = [
    "first",
    "we",
    "take",
    "what",
    "is",
    "there",
    "and",
    "then",
    "add",
    "the",
    "rest",
    "of",
    "it",
    "while",
    "nothing",
    "else",
    "in",
    "this",
    "story",
    "changes",
    "so",
]


def judged(run: ProbeRun, name: str) -> CheckResult:
    return next(check for check in CHECKS if check.id == f"probe/{name}").judge(run)


def told(result: CheckResult) -> str:
    return f"{result.outcome.value}{'' if result.settled else ', open'}"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ProbeRun:
    """A healthy run of 40 problems."""
    with Simulator(behaviour(accuracy=even(0.6))) as server:
        settings = ProbeSettings(
            url=server.url, problems=40, samples=3, concurrency=8, patience=QUICK
        )
        return measure(settings, Silent(), tmp_path_factory.mktemp("healthy") / "run")


def some(share: float, change: Change, of: int) -> Change:
    return lambda each: change(each) if each.problem < share * of else each


def says(text: str, finish: str = "stop", reasoning: str = "") -> Change:
    return lambda each: replace(each, text=text, finish_reason=finish, reasoning=reasoning)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "outcome"),
    [(0.0, "pass"), (0.075, "warn"), (0.2, "warn"), (0.45, "skip, open"), (1.0, "fail")],
)
def test_a_weak_model_that_loops_now_and_then_is_no_broken_deployment(
    probe: Probe, share: float, outcome: str
) -> None:
    with Simulator(behaviour(accuracy=even(0.45))) as server:
        run = probe(server.url, problems=120)
    looping = rewritten(run, some(share, says(LOOP, "length"), 120))
    assert told(judged(looping, "degenerate")) == outcome


DICE = random.Random(4)


def _noise(_: Sample) -> str:
    return DICE.randbytes(300).decode("utf-8", "replace")


GARBAGE: dict[str, Callable[[Sample], str]] = {
    "token 0": lambda _: "!" * 400,
    "token 0 after a sentence": lambda _: "We add the apples that she has and those that she picks." + "!" * 80,
    "loops after a while": lambda each: " ".join(DICE.sample(WORDS, 12)) + " the total of it" * 20,
    "bytes": _noise,
    "digits": lambda _: "0" * 500,
    "markers": lambda each: each.text.replace(" ", "▁"),
    "many scripts": lambda _: " ".join(
        "".join(chr(DICE.randint(*span)) for _ in range(5))
        for span in DICE.choices([(0x61, 0x7A), (0x430, 0x44F), (0x4E00, 0x9FA5), (0x5D0, 0x5EA), (0x905, 0x939)], k=30)
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", GARBAGE)
def test_an_endpoint_whose_every_answer_is_garbage_fails(run: ProbeRun, kind: str) -> None:
    broken = rewritten(
        run, lambda each: replace(each, text=GARBAGE[kind](each), finish_reason="length")
    )
    assert told(judged(broken, "degenerate")) == "fail"


def test_garbage_of_many_kinds_is_garbage(run: ProbeRun) -> None:
    """Each sign alone is rare enough to be the model's."""
    kinds = [
        "",
        LOOP,
        "".join(f"{n % 3} and then the number {n % 3} is a number and so on " for n in range(90))
        + ".",
    ]
    broken = rewritten(run, lambda each: replace(each, text=kinds[each.problem % 3]))
    assert judged(broken, "degenerate").outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("parameters", "accuracy", "told_so"),
    [
        (0, 0.6, False),
        (500_000_000, 0.6, False),
        (2_000_000_000, 0.6, True),
        (2_000_000_000, 0.96, False),
    ],
)
def test_a_large_model_that_fails_at_easy_sums_is_doubted(
    tmp_path: Path, parameters: int, accuracy: float, told_so: bool
) -> None:
    run = load(recorded(tmp_path / "run", accuracy))
    large = replace(run, settings=replace(run.settings, parameters=parameters))
    warned = any(
        "billion parameters" in finding.seen for finding in judged(large, "accuracy").findings
    )
    assert warned is told_so


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_answers_that_got_to_another_problem_fail(run: ProbeRun, share: float) -> None:
    right = [
        each.text for each, grade in zip(run.samples, run.grades, strict=True) if grade.correct
    ]
    change = some(share, lambda each: replace(each, text=right[each.order * 7 % len(right)]), 40)
    assert judged(rewritten(run, change), "degenerate").outcome is (
        Outcome.FAIL if share else Outcome.PASS
    )


def test_short_wrong_answers_that_are_right_elsewhere_are_a_weak_models(run: ProbeRun) -> None:
    golds = [problem.answer for problem in run.problems]
    guess = rewritten(
        run,
        lambda each: replace(
            each,
            text=f"The final answer is surely {golds[(each.problem + each.repeat) % len(golds)]}.",
        ),
    )
    assert judged(guess, "degenerate").outcome is Outcome.PASS


@pytest.mark.parametrize("kind", ["token 0", "bytes", "many scripts", "markers"])
def test_what_no_model_says_by_itself_fails_where_it_is_rare(run: ProbeRun, kind: str) -> None:
    change = some(
        0.2, lambda each: replace(each, text=GARBAGE[kind](each), finish_reason="length"), 40
    )
    assert judged(rewritten(run, change), "degenerate").outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that request at the moment.",
        "As an AI assistant of this company, I am not able to answer questions about arithmetic.",
        "很抱歉，我无法回答这个问题，因为它超出了我的服务范围。请您换一个问题，或者联系我们的人工客服人员，谢谢您的理解。",
    ],
)
def test_a_model_that_refuses_is_not_called_deaf(run: ProbeRun, text: str) -> None:
    assert told(judged(rewritten(run, says(text)), "degenerate")) == "warn"


def test_a_weak_model_that_always_chooses_a_is_not_called_deaf(run: ProbeRun) -> None:
    asked = tuple(
        replace(problem, kind=AnswerKind.CHOICE, letters="ABCD", answer="B")
        for problem in run.problems
    )
    text = "Of the choices that are given above the right one is A.\n\nThe answer is \\boxed{A}."
    chosen = rewritten(replace(run, problems=asked), says(text))
    assert told(judged(chosen, "degenerate")) == "warn"


def test_right_answers_that_are_alike_are_not_called_deaf(run: ProbeRun) -> None:
    asked = tuple(
        replace(problem, answer="7" if place % 3 else "8")
        for place, problem in enumerate(run.problems)
    )
    text = "We add what is there to what comes, and see that the answer is 7."
    assert told(judged(rewritten(replace(run, problems=asked), says(text)), "degenerate")) == "warn"


def test_an_answer_that_is_in_the_reasoning_field_is_read_by_the_client(run: ProbeRun) -> None:
    result = judged(
        rewritten(run, says("", reasoning="15 + 3 = 18. The answer is 18.")), "degenerate"
    )
    assert told(result) == "warn"
    assert "--reasoning-parser" in result.findings[0].fix


SOLUTION = (
    "Let us begin with the apples that {name} has in the basket at home: there are {first} of them. Then {name}'s "
    "brother, who was in the garden with two friends, brings {second} more, which we add to those of the basket. "
    "That gives {first} + {second} = {sum} apples in all, because none of them was eaten, and each of the four "
    "children gets an equal share of the rest after the neighbours were given their part for helping with the "
    "harvest. The answer is {answer}."
)


def solved(run: ProbeRun, share: float, able: float = 0.8) -> ProbeRun:
    """A run of prose that is right in so many answers, of which a share ends between two words, as if complete."""
    dice = random.Random(12)

    def solution(each: Sample) -> Sample:
        first, second = dice.randint(3, 90), dice.randint(3, 90)
        answer = run.problems[each.problem].answer if dice.random() < able else -1
        text = SOLUTION.format(
            name="Anna", first=first, second=second, sum=first + second + 1000, answer=answer
        ).split(" ")
        kept = dice.randrange(8, len(text) - 5) if dice.random() < share else len(text)
        return replace(each, text=" ".join(text[:kept]), finish_reason="stop")

    return rewritten(run, solution)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> ProbeRun:
    """120 problems with 5 samples each."""
    folder = tmp_path_factory.mktemp("usual") / "run"
    return load(recorded(folder, 1.0, settings=replace(SETTINGS, problems=120)))


@pytest.mark.parametrize(
    ("share", "able", "outcome"),
    [
        (0.0, 0.8, "pass"),
        (0.1, 0.8, "warn"),
        (0.2, 0.8, "fail"),
        (0.5, 0.8, "fail"),
        (0.8, 0.8, "fail"),
        (0.8, 0.0, "warn"),
    ],
)
def test_answers_that_break_off_in_a_sentence_are_told(
    usual: ProbeRun, share: float, able: float, outcome: str
) -> None:
    result = judged(solved(usual, share, able), "degenerate")
    assert told(result) == outcome
    assert any("answers break off" in finding.seen for finding in result.findings) == (share > 0)


def with_siblings(run: ProbeRun, ends: tuple[str, ...]) -> ProbeRun:
    """A run in which the samples of a problem begin alike and end in these ways, in turn; those right say more."""

    def answer(each: Sample) -> Sample:
        end = ends[(each.problem + each.repeat) % len(ends)]
        text = f"Kate has {each.problem} boxes with 14 stamps each and buys 11 more stamps{end}"
        return replace(
            each, text=text.format(answer=run.problems[each.problem].answer), finish_reason="stop"
        )

    return rewritten(run, answer)


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ((" later in the year. The answer is {answer}.",) * 9 + (" later",), "fail"),
        ((" later in the year. The answer is {answer}.",) * 39 + (" later",), "pass"),
        ((" later. The answer is -1.", " later.", " later. The answer is {answer}."), "pass"),
    ],
)
def test_answers_with_which_others_begin_break_off(
    usual: ProbeRun, ends: tuple[str, ...], outcome: str
) -> None:
    """One in ten; too few to be sure; and ends of sentences, behind which others go on."""
    assert told(judged(with_siblings(usual, ends), "degenerate")) == outcome


def test_a_stop_string_may_end_an_answer_anywhere(usual: ProbeRun) -> None:
    assert (
        told(judged(asking(solved(usual, 0.5), RequestOptions(stop=(" ",))), "degenerate"))
        == "pass"
    )


def at_zero(run: ProbeRun, text: Callable[[Sample], str]) -> CheckResult:
    cold = replace(run, settings=replace(run.settings, temperature=0.0))
    return judged(rewritten(cold, lambda each: replace(each, text=text(each))), "degenerate")


def test_answers_whose_ends_flip_with_the_batch_at_temperature_zero_are_no_failure(
    run: ProbeRun,
) -> None:
    opening = "To solve this, we first look at what is given, and then at what is asked. "
    result = at_zero(
        run,
        lambda each: (
            f"{opening}Case {each.problem}, {WORDS[each.repeat]}: so the answer is {each.repeat + 5}."
        ),
    )
    assert told(result) == "warn"
    assert "40 of 40 problems got different ones" in result.findings[-1].seen


def test_answers_that_are_others_from_the_first_word_on_at_temperature_zero_fail(
    run: ProbeRun,
) -> None:
    result = at_zero(
        run, lambda each: f"{WORDS[each.repeat]} … so that the answer is {each.repeat + 5}."
    )
    assert told(result) == "fail"


def test_short_answers_that_are_alike_need_no_other_seed(run: ProbeRun) -> None:
    alike = rewritten(run, lambda each: replace(each, text=f"The answer is {each.problem + 3}."))
    assert told(judged(alike, "degenerate")) == "pass"


def test_answers_in_another_language_are_a_warning(run: ProbeRun) -> None:
    text = (
        "我们先把已有的苹果和后来买的苹果加在一起，然后再减去送给弟弟的那些，所以最后的答案是{}。"
    )
    spoken = rewritten(run, lambda each: replace(each, text=text.format(each.order)))
    assert told(judged(spoken, "degenerate")) == "warn"
    in_chinese = asking(spoken, RequestOptions(system="用中文回答。"))
    assert told(judged(in_chinese, "degenerate")) == "pass"


def test_copies_are_a_warning_where_more_than_one_token_is_sampled(run: ProbeRun) -> None:
    text = "First the apples are counted, then those are added that somebody brought along on day {}, which is all."
    copied = rewritten(run, lambda each: replace(each, text=text.format(each.problem)))
    assert told(judged(copied, "degenerate")) == "warn"
    assert told(judged(asking(copied, RequestOptions(top_k=1)), "degenerate")) == "pass"
    kept = [at for at, each in enumerate(copied.samples) if each.repeat < 2]
    samples, grades = ([row[at] for at in kept] for row in (copied.samples, copied.grades))
    assert (
        told(judged(replace(copied, samples=tuple(samples), grades=tuple(grades)), "degenerate"))
        == "warn"
    )


def asking(run: ProbeRun, request: RequestOptions) -> ProbeRun:
    return replace(run, settings=replace(run.settings, request=request))


THOUGHTS = (
    "Okay, so I need to find how many apples there are. Let me see. She has 15 at first, and then {} more come. "
    "Wait, maybe some of them were given away before. Let me read that again. Hmm, it says that she picks"
)


@pytest.mark.parametrize(
    ("change", "outcome", "named"),
    [
        (lambda each: replace(each, text=THOUGHTS.format(each.order)), "skip, open", "while reasoning"),
        (lambda each: replace(each, text="<think>\n" + THOUGHTS.format(each.order)), "skip, open", "while reasoning"),
        (lambda each: replace(each, text="", reasoning=THOUGHTS), "skip, open", "while reasoning"),
        (lambda each: replace(each, text="", reasoning="I think so. " * 400), "fail", "without end"),
        (lambda each: replace(each, text=f"First {each.order} things are to be said about"), "skip, open", ""),
        (lambda each: replace(each, text=f"{each.order} is it.<|im_end|>\n<|im_start|>user\nAnd"), "fail", "without end"),
        (lambda each: replace(each, text=f"{each.order} is it.\n\nQuestion: How many pears"), "fail", "without end"),
        (lambda each: replace(each, text=LOOP), "fail", "without end"),
        (lambda each: replace(each, text=" ".join(DICE.choices(WORDS, k=1500))), "fail", "without end"),
    ],
    ids=["thoughts without a tag", "open thoughts", "a reasoning field", "a loop of thoughts", "wordy",
         "its turn's end", "its own questions", "a loop", "pages"],
)  # fmt: skip
def test_an_answer_that_is_cut_says_why(
    run: ProbeRun, change: Change, outcome: str, named: str
) -> None:
    result = judged(
        rewritten(run, lambda each: replace(change(each), finish_reason="length")), "truncated"
    )
    assert told(result) == outcome
    assert named in result.findings[0].seen


def test_answers_that_nothing_cut_are_not_told_to_reason_less(run: ProbeRun) -> None:
    def says_length(each: Sample) -> Sample:
        return replace(
            each, text="2+15=17. The answer is 17.", finish_reason="length", completion_tokens=15
        )

    always = judged(rewritten(run, says_length), "truncated")
    assert told(always) == "skip, open"
    (finding,) = always.findings
    assert (
        '120 of 120 have finish_reason "length" after fewer tokens; one after 15,' in finding.seen
    )
    assert "The answer is 17." in finding.seen
    assert "reasoning" not in finding.fix
    assert "endpoint/max-tokens" in finding.fix


@pytest.mark.parametrize(("tokens", "text"), [(4096, "so"), (None, "so"), (900, LOOP)])
def test_answers_that_may_go_on_are_told_to_have_been_cut(
    run: ProbeRun, tokens: int | None, text: str
) -> None:
    cut = rewritten(run, lambda each: replace(says(text, "length")(each), completion_tokens=tokens))
    (finding,) = judged(cut, "truncated").findings
    assert "were cut at max_tokens=4096" in finding.seen


def test_thoughts_that_end_in_other_answers_show_what_the_cut_ones_are(run: ProbeRun) -> None:
    """A template that opens `<think>` in the prompt: only `</think>` is ever seen."""
    lengthy = " ".join(DICE.choices(WORDS, k=1500))

    def change(each: Sample) -> Sample:
        if each.problem < 4:
            return replace(each, text=f"{lengthy}</think>The answer is 7.")
        return replace(each, text=f"{each.order} {lengthy}", finish_reason="length")

    assert told(judged(rewritten(run, change), "truncated")) == "skip, open"


def test_copies_of_a_cut_answer_are_no_more_evidence_than_one(run: ProbeRun) -> None:
    """7 of 40 problems, that is 21 of 120 samples: as samples surely more than a tenth, as problems not."""
    cut = rewritten(run, some(0.175, says(LOOP, "length"), 40))
    assert judged(cut, "truncated").outcome is Outcome.WARN


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.7, 0.0])
@pytest.mark.parametrize("manner", Manner)
def test_no_manner_of_a_healthy_model_fails(
    probe: Probe, manner: Manner, temperature: float
) -> None:
    with Simulator(behaviour(accuracy=even(0.6), manner=manner)) as server:
        run = probe(server.url, problems=60, temperature=temperature)
    results = [check.judge(run) for check in CHECKS]
    assert not [result.id for result in results if result.outcome is Outcome.FAIL]
    weak = manner in {Manner.ECHOES, Manner.REFUSES, Manner.WEAK}
    below_the_baselines = ["probe/accuracy"] if weak else []
    assert [result.id for result in results if not result.settled] == below_the_baselines
