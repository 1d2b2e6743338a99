"""Instructions with exactly one right reply: one operation on words, two, three."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.probe.problems.problem import AnswerKind, Dice, Problem

_WORDS = (
    "apple", "bridge", "candle", "desert", "engine", "forest", "garden", "harbor", "island", "jacket", "kettle",
    "ladder", "market", "needle", "orange", "pencil", "quartz", "ribbon", "silver", "tunnel", "umbrella", "valley",
    "window", "yellow",
)  # fmt: skip
_ORDINALS = ("first", "second", "third", "fourth")
_TIMES = {2: "twice", 3: "three times", 4: "four times"}


def instructions(tier: str, seed: int) -> Iterator[Problem]:
    """Instruction-following problems without end."""
    make = {"easy": _easy, "medium": _medium, "hard": _hard}[tier]
    dice, serial = Dice("instructions", tier, seed), 0
    while True:
        question, answer = make(dice)
        yield Problem(
            id=f"instructions/{tier}/{seed}/{serial}",
            family="instructions",
            tier=tier,
            question=question,
            answer=answer,
            kind=AnswerKind.WORDS,
            worked=answer,
        )
        serial += 1


def _easy(dice: Dice) -> tuple[str, str]:
    words = dice.shuffled(_WORDS)[:4]
    place = dice.number(0, 3)
    times = dice.number(2, 4)
    return dice.pick((
        (f"Write the word {words[0]}-{words[1]} in capital letters.", f"{words[0]}-{words[1]}".upper()),
        (f"Write the words {words[0]} {words[1]} {_TIMES[times]}, separated by commas.",
         ", ".join([f"{words[0]} {words[1]}"] * times)),
        (f"Write the {_ORDINALS[place]} of these words: {', '.join(words)}.", words[place]),
    ))  # fmt: skip


def _medium(dice: Dice) -> tuple[str, str]:
    words = dice.shuffled(_WORDS)[:4]
    place = dice.number(0, 3)
    listed = ", ".join(words)
    return dice.pick((
        (f"Write the {_ORDINALS[place]} of these words in capital letters: {listed}.", words[place].upper()),
        (f"Write these words in reverse order, separated by commas: {listed}.", ", ".join(reversed(words))),
        (f"Write these words in alphabetical order, separated by commas: {listed}.", ", ".join(sorted(words))),
    ))  # fmt: skip


def _hard(dice: Dice) -> tuple[str, str]:
    words = dice.shuffled(_WORDS)[:4]
    listed = ", ".join(words)
    return dice.pick((
        (f"Sort these words alphabetically, write them in capital letters and join them with hyphens: {listed}.",
         "-".join(sorted(words)).upper()),
        (f"Leave out the last of these words, write the others in reverse order with slashes between: {listed}.",
         "/".join(reversed(words[:-1]))),
    ))  # fmt: skip
