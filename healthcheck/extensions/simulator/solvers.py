"""Four solvers with known behaviour, after "Evaluating pass@k, and what it doesn't tell you".

Each is a pure function of the problem and the sample's number, so that the seed determines a whole experiment.

regex   takes the first two numbers and guesses one operation from a keyword: deterministic.
parser  runs the canonical program; on hard problems it misreads a step in every second sample.
iid     right with probability .85, .70, .55 on easy, medium, hard: independent samples.
sticky  the same, but after a wrong sample the next one repeats that answer with probability one half. The text says
        "if the first sample was wrong"; only this reading gives its printed pass@1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from healthcheck.extensions.simulator.draws import uniform

ACCURACY = {"easy": 0.85, "medium": 0.70, "hard": 0.55}
MISREAD = 0.5
REPEAT = 0.5
_NUMBER = re.compile(r"\d+")
_FEWER = re.compile(r"gives away|loses|sells|uses")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One sample of a problem, with the problem's right answer and tier; samples count from 0."""

    question: str
    right: str
    tier: str
    sample: int
    seed: int

    def uniform(self, *what: object) -> float:
        """A number in [0, 1) that depends only on the seed, the question and its purpose."""
        return uniform("/".join(map(str, (self.seed, self.question, *what))))


def regex(query: Query) -> str:
    first, second, *_ = [*map(int, _NUMBER.findall(query.question)), 0, 0]
    if "each" in query.question:
        return str(first * second)
    return str(first - second if _FEWER.search(query.question) else first + second)


def parser(query: Query) -> str:
    misread = query.tier == "hard" and query.uniform(query.sample, "misread") < MISREAD
    return _wrong(query, query.sample) if misread else query.right


def iid(query: Query) -> str:
    return _drawn(query, query.sample)


def sticky(query: Query) -> str:
    """Repeats the earlier samples: without state, in any order of requests."""
    said = _drawn(query, 0)
    for sample in range(1, query.sample + 1):
        stays = said != query.right and query.uniform(sample, "stays") < REPEAT
        said = said if stays else _drawn(query, sample)
    return said


def _drawn(query: Query, sample: int) -> str:
    return (
        query.right
        if query.uniform(sample, "right") < ACCURACY[query.tier]
        else _wrong(query, sample)
    )


def _wrong(query: Query, sample: int) -> str:
    offset = 1 + int(9 * query.uniform(sample, "wrong"))
    return str(int(query.right) + offset) if query.right.isdigit() else f"{query.right}{offset}"


SOLVERS: dict[str, Callable[[Query], str]] = {
    "regex": regex,
    "parser": parser,
    "iid": iid,
    "sticky": sticky,
}
