"""What the figures of a run mean together, in the words of the evaluation client's documentation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from healthcheck.stages.probe.statistics.estimates import Estimate, Summary
from healthcheck.text.messages import joined, msg

_HIGH, _LOW = 0.8, 0.5
"""The documentation's hypothetical bounds of high and low."""
_WORDS = {"high": msg("high"), "mid": msg("medium"), "low": msg("low")}
_SELDOM, _MOSTLY = 0.1, 0.9
_MEANS = {
    ("high", "high", "high"): msg("reliable"),
    ("high", "mid", "low"): msg("strong but unstable: a lower temperature or a vote helps"),
    ("mid", "mid", "mid"): msg("even: neither good nor bad"),
    ("low", "low", "low"): msg("failing: look for a broken deployment first"),
}
_AGREED = msg(
    "a systematic error, on which the samples agree: look at the chat template, the prompt, the answer format"
)
_TARGETS = (
    (msg("reliability (diagnosis, finance)"), {"cons": 0.8, "pass": 0.9}),
    (msg("fault tolerance (code, exploration)"), {"pass": 0.8, "avg": 0.7}),
    (msg("a general assistant"), {"avg": 0.75}),
)
"""The documentation's scenarios, each with what its figures are to be above."""


def meaning(summary: Summary, votes: Sequence[Estimate]) -> Iterator[str]:
    """Sentences about the figures of several samples a problem, each as measured, without its interval."""
    n = summary.repeats
    named = {each.name: each.value for each in (*summary.estimates, *votes)}
    found = {
        name: named[f"{name}@{n}"] for name in ("pass", "avg", "cons") if f"{name}@{n}" in named
    }
    if n < 2 or len(found) < 3:
        return
    bands = (_band(found["pass"]), _band(found["avg"]), _band(found["cons"]))
    agreed = bands == ("low", "low", "low") and named.get(f"agreement@{n}", 0.0) > _HIGH
    met = [
        name
        for name, least in _TARGETS
        if all(found[each] > value for each, value in least.items())
    ]
    yield msg(
        "pass@k is {passed}, avg@n {avg}, cons@k {cons} by the hypothetical bounds of the client's documentation: "
        "{means}; its targets are met for: {met}",
        passed=_WORDS[bands[0]],
        avg=_WORDS[bands[1]],
        cons=_WORDS[bands[2]],
        means=_AGREED if agreed else _MEANS.get(bands, msg("no row of its own")),
        met=joined(", ", met) or msg("none"),
    )
    if found["pass"] >= _MOSTLY and found["avg"] <= _SELDOM:
        yield msg(
            "pass@{k} {passed:.0f} % says little beside avg@{n} {avg:.0f} %, which one answer has",
            k=n,
            passed=100 * found["pass"],
            n=n,
            avg=100 * found["avg"],
        )


def _band(value: float) -> str:
    return "high" if value > _HIGH else "low" if value < _LOW else "mid"
