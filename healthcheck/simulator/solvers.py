"""Four solvers of known behaviour, after "Evaluating pass@k, and what it doesn't tell you".

Each is a pure function of the problem and of the sample's number, so that a whole experiment is fixed by its seed.

regex   takes the first two numbers and guesses one operation from a keyword: deterministic.
parser  runs the canonical program; on hard problems it misreads a step in every second sample.
iid     right with probability .85, .70, .55 on easy, medium, hard: independent samples.
sticky  the same, but after a wrong sample the next one repeats that answer with probability one half. The text says
        "if the first sample was wrong"; of both readings only this one gives its printed pass@1.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass

ACCURACY = {"easy": 0.85, "medium": 0.70, "hard": 0.55}
MISREAD = 0.5
REPEAT = 0.5
_NUMBER = re.compile(r"\d+")
_FEWER = re.compile(r"gives away|loses|sells|uses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One sample that is asked for: the problem, its right answer and tier, the sample's number from 0."""

    question: str
    right: str
    tier: str
    sample: int
    seed: int

    def uniform(self, *what: object) -> float:
        """A number in [0, 1) that is fixed by the seed, the question and what it is drawn for."""
        key = "/".join(map(str, (self.seed, self.question, *what)))
        return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest(), "big") / 2**56


def regex(asked: Asked) -> str:
    first, second, *_ = [*map(int, _NUMBER.findall(asked.question)), 0, 0]
    if "each" in asked.question:
        return str(first * second)
    return str(first - second if _FEWER.search(asked.question) else first + second)


def parser(asked: Asked) -> str:
    misread = asked.tier == "hard" and asked.uniform(asked.sample, "misread") < MISREAD
    return _wrong(asked, asked.sample) if misread else asked.right


def iid(asked: Asked) -> str:
    return _drawn(asked, asked.sample)


def sticky(asked: Asked) -> str:
    """Retraces the samples before this one: no state, whatever the order of requests."""
    said = _drawn(asked, 0)
    for sample in range(1, asked.sample + 1):
        stays = said != asked.right and asked.uniform(sample, "stays") < REPEAT
        said = said if stays else _drawn(asked, sample)
    return said


def _drawn(asked: Asked, sample: int) -> str:
    return asked.right if asked.uniform(sample, "right") < ACCURACY[asked.tier] else _wrong(asked, sample)


def _wrong(asked: Asked, sample: int) -> str:
    offset = 1 + int(9 * asked.uniform(sample, "wrong"))
    return str(int(asked.right) + offset) if asked.right.isdigit() else f"{asked.right}{offset}"


SOLVERS: dict[str, Callable[[Asked], str]] = {"regex": regex, "parser": parser, "iid": iid, "sticky": sticky}
