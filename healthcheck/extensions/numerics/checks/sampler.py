"""numerics/sampler: tokens are drawn from the distribution that is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.numerics.distance import behind
from healthcheck.extensions.numerics.findings import LAUNCH_LINE
from healthcheck.extensions.numerics.judgement import CERTAIN, ROUNDING
from healthcheck.extensions.numerics.records import NumericsRun, Sample
from healthcheck.extensions.numerics.sampler import (
    Chance,
    blames,
    chances,
    moved,
    repetitions,
    steepness,
)
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg

_MOST_SUM = 1.05
_OFF = 1.25
_SURE = 3
_LEAST = 0.01
_EVENTS = (
    msg("the likeliest token"),
    msg("one of those with 80 % together"),
    msg("one of the told ones, without the last"),
)
_ENGINE = msg(
    "look for what changes sampling in the engine: a plugin, a logits processor, a patched sampler"
)
_ANEW = msg("look for replicas that start with one seed, and for a cache of answers")
_DEFAULTS = msg(
    "add --generation-config vllm to {launch_line}, or repair generation_config.json of the weights",
    launch_line=LAUNCH_LINE,
)


@check(
    "numerics/sampler",
    msg("Tokens are drawn from the distribution that is told"),
    stage=NUMERICS,
    why=msg(
        "The {repeats} samples of a problem differ by sampling alone: drawn otherwise, they are another model's."
    ),
    requires=("numerics/contrast",),
)
def sampler(run: NumericsRun) -> Findings:
    """Short completions are drawn at temperatures 1 and 0.5, with every parameter of sampling set to what changes
    nothing. How often the likeliest token was drawn, one of those with 80 % together, and one of the told ones, is
    compared with what is told. At temperature 0 the chosen token must be the likeliest. What is told of one token
    must not sum to more than one.

    Log-probabilities may be of the model's logits (`--logprobs-mode raw_logprobs`, vLLM's default) or of what is
    drawn from; what is told at temperature 0 shows which. An honest sampler is blamed in at most one of 1,000 runs.

    Completions of one prompt at temperature 1 that repeat each other more often than the reported probabilities
    allow are a warning: replicas that draw with one seed, and a cache, give one completion twice, and pass@k of
    fewer samples.

    Then the same is asked without these parameters: defaults of the server that leave one token alone, or a penalty
    that passes over a far likelier token, are a warning.

    Repair: look for what changes sampling in the engine: a plugin, a logits processor, a patched sampler. For
    defaults of the server, `--generation-config vllm`, or a repaired generation_config.json.

    Simulated by: npu-adapter simulate --fault always-greedy (temperature-always-1, temperature-doubled, min-p,
    repetition-penalty, logit-noise, replicas-share-a-seed, wrong-normaliser)

    Example:
    ```text 512 tokens drawn at temperature 1
    the likeliest token: 512 times
    by the told probabilities: 287 times
    ```

    Use instead:

    ```text 512 tokens drawn at temperature 1
    the likeliest token: 291 times
    by the told probabilities: 287 times
    ```
    """
    if not any(each.neutral and each.temperature == 1 for each in run.samples):
        raise NotApplicable(msg("no answers to compare"))
    found = [*_sums(run), *_passed_over(run)]
    neutral = [each for each in run.samples if each.neutral]
    for temperature in sorted({each.temperature for each in neutral}):
        found += _drawn(
            run, temperature, [each for each in neutral if each.temperature == temperature]
        )
    found = found or list(_repeated([each for each in neutral if each.temperature == 1]))
    yield from found or _defaults(run, [each for each in run.samples if not each.neutral])
    likeliest, *_ = _events(run, [each for each in neutral if each.temperature == 1], 1.0)
    if not found and not blames(replace(each, happened=True) for each in likeliest):
        raise NotApplicable(
            msg("the model is so sure of each token that sampling would show nothing")
        )
    expected = math.fsum(each.low for each in likeliest)
    yield note(
        msg(
            "at temperature 1 the likeliest token was drawn {seen} times of {places}, {expected:.0f} expected",
            seen=sum(each.happened for each in likeliest),
            places=len(likeliest),
            expected=expected,
        )
    )


def _sums(run: NumericsRun) -> Iterator[Finding]:
    """More than all of the probability is told."""
    readings = [*(reading for _, reading in run.alone), *(each.reading for each in run.samples)]
    sums = [
        math.fsum(map(math.exp, place.top.values()))
        for reading in readings
        for place in reading.positions
    ]
    if max(sums) > _MOST_SUM:
        beyond = sum(each > _MOST_SUM for each in sums)
        seen = msg(
            "they sum to up to {most:.2f}, to more than 1 in {beyond} of {places} places",
            most=max(sums),
            beyond=beyond,
            places=len(sums),
        )
        yield fail(
            expected=msg("told probabilities of one token that sum to at most 1"),
            seen=seen,
            fix=_ENGINE,
        )


def _passed_over(run: NumericsRun) -> Iterator[Finding]:
    """Greedy answers that are not greedy."""
    beyond = sum(lead > ROUNDING for lead in run.leads)
    if beyond:
        seen = msg(
            "{beyond} of {answers} answers at temperature 0 passed over one that led by up to {lead:.1f} nats",
            beyond=beyond,
            answers=len(run.leads),
            lead=max(run.leads),
        )
        make = fail if beyond >= _SURE else warn
        yield make(
            expected=msg("the likeliest of the told tokens at temperature 0"),
            seen=seen,
            fix=_ENGINE,
        )


def _drawn(run: NumericsRun, temperature: float, drawn: Sequence[Sample]) -> Iterator[Finding]:
    apart = moved(run, drawn) if temperature == 1 else 0
    if apart >= _SURE:
        seen = msg("others behind {prompts} prompts", prompts=apart)
        yield fail(
            expected=msg("the log-probabilities of temperature 0 at temperature 1"),
            seen=seen,
            fix=_ENGINE,
        )
    steep = steepness(run, drawn)
    if steep is None and temperature != 1:
        return  # what is told does not say whether it is raw
    raw, processed = 1.0, 1 / temperature
    kind = min((raw, processed), key=lambda each: abs(math.log(max(steep or 1.0, _LEAST) / each)))
    if steep is not None and not kind / _OFF < steep < kind * _OFF:
        seen = msg(
            "{steep:.2f} times as far apart at temperature {temperature:g}",
            steep=steep,
            temperature=temperature,
        )
        expected = msg(
            "log-probabilities as far apart as at temperature 0, or {times:g} times",
            times=processed,
        )
        yield fail(expected=expected, seen=seen, fix=_ENGINE)
        return
    kinds = _events(run, drawn, processed if kind == raw else 1.0)
    for what, events in zip(_EVENTS, kinds, strict=True):
        if blames(events):
            times = math.fsum(each.low + each.high for each in events) / 2
            seen = msg("{seen} times", seen=sum(each.happened for each in events))
            expected = msg(
                "{what} {times:.0f} times of {places} at temperature {temperature:g}, as it is told",
                what=what,
                times=times,
                places=len(events),
                temperature=temperature,
            )
            yield fail(expected=expected, seen=seen, fix=_ENGINE)


def _repeated(drawn: Sequence[Sample]) -> Iterator[Finding]:
    """Completions that repeat an earlier one more often than the reported probabilities allow."""
    events = list(repetitions(drawn))
    if blames(events):
        expected = msg(
            "about {times:.0f} at most, as it is told",
            times=math.fsum(each.high for each in events),
        )
        seen = msg(
            "{seen} of {completions} completions repeat an earlier one of their prompt",
            seen=sum(each.happened for each in events),
            completions=len(drawn),
        )
        yield warn(expected=expected, seen=seen, fix=_ANEW)


def _events(run: NumericsRun, drawn: Sequence[Sample], power: float) -> Sequence[Sequence[Chance]]:
    """The events of `chances`, each at all places that have some."""
    places = [place for each in drawn for place in each.reading.positions]
    found = [chances(place, told=run.server.logprobs, power=power) for place in places]
    return [[event[kind] for event in found if event] for kind in range(len(_EVENTS))]


def _defaults(run: NumericsRun, drawn: Sequence[Sample]) -> Iterator[Finding]:
    """What the server does where a request does not say how to sample."""
    likeliest, *_ = _events(run, [each for each in drawn if each.temperature == 1], 1.0)
    if all(each.happened for each in likeliest) and blames(likeliest):
        expected = msg("different tokens at temperature 1 if a request says nothing else")
        seen = msg("the likeliest token, {places} times of {places}", places=len(likeliest))
        yield warn(expected=expected, seen=seen, fix=_DEFAULTS)
    greedy = [place for each in drawn if each.temperature == 0 for place in each.reading.positions]
    lead = max(map(behind, greedy), default=0.0)
    if lead > CERTAIN:
        expected = msg(
            "the likeliest of the told tokens at temperature 0 if a request says nothing else"
        )
        yield warn(
            expected=expected,
            seen=msg("one that was behind by {lead:.1f} nats", lead=lead),
            fix=_DEFAULTS,
        )
