"""endpoint/sampling: temperature takes effect."""

from __future__ import annotations

import math
import re

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, note
from healthcheck.core.records import Finding
from healthcheck.stages.endpoint.answers import about, answered, response_of, said, shown, vary
from healthcheck.stages.endpoint.lone_streams import changed_alone
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_TELLING_CHARACTERS = 16
_CHANCE = 1e-6


@check(
    "endpoint/sampling",
    msg("Temperature takes effect"),
    why=msg(
        "The service samples each problem {repeats} times; pass@{repeats} of equal samples is just the accuracy."
    ),
    rule=contract.REPEATS,
    requires=("endpoint/stream-finish",),
)
def sampling(interview: Interview) -> Findings:
    """Four answers to one open request at temperature 1 should differ. If they are equal, four longer ones at
    temperature 2 are requested; if those are equal too, or differ only beyond the place where the first four
    ended, four more, or twelve short ones, without top_p and top_k. At temperature 0 the same request must give
    the same answer.

    A model can be certain of its words. If the server reports log-probabilities, equal answers fail only if correct
    sampling would repeat them less than once in a million times. If only the answers without top_p and top_k
    differ, generation_config.json narrows the sampling (Qwen2-VL comes with top_k 1): the service's samples will be
    equal, a warning.

    Small differences of the text at temperature 0 are usual on accelerators. They warn only if the *result*
    changes: the last number in the text, or the whole text if it has no number.

    Repair: pass temperature on to the engine, and do not fix a seed. For equal answers at temperature 0: send one
    request at a time, or use the engine's batch-invariant mode.
    Simulated by: npu-adapter simulate --fault ignores-sampling (unsteady)

    Example:
    ```text answers to one request at temperature 2
    The old lighthouse keeper climbed the stairs and lit the lamp once more.
    The old lighthouse keeper climbed the stairs and lit the lamp once more.
    ```

    Use instead:

    ```text answers to one request at temperature 2
    The old lighthouse keeper climbed the stairs and lit the lamp once more.
    A fox crossed the frozen river and found the village asleep under snow.
    ```
    """
    unsteady = _unsteady(interview)
    if cold := (interview.streams[0].sent or {}).get("temperature") if interview.streams else 0:
        yield note(
            msg("the server refuses temperature 0: temperature {cold} was used instead", cold=cold)
        )
    elif unsteady and not changed_alone(interview):
        yield unsteady
    samples = interview.sampling
    if samples.warm and 400 <= samples.warm[0].status < 500:
        expected = msg("an answer at temperature 1")
        fix = msg("accept temperatures up to 2, as OpenAI's endpoint does")
        yield about(samples.warm[0]).warn(
            expected=expected, seen=response_of(samples.warm[0]), fix=fix
        )
        return
    if not samples.warm or vary(samples.warm) or vary(samples.hot, samples.ends_after):
        return
    if vary(samples.freed):
        if vary(samples.hot):
            return  # so few words leave little to choose from
        expected = msg("different answers at temperature 1 and 2")
        told = len(samples.warm) + len(samples.hot)
        seen = msg("{warm} equal answers; with top_p 1 and top_k -1 they differ", warm=told)
        fix = msg(
            "look for top_k and top_p in generation_config.json; --generation-config vllm ignores it"
        )
        yield about(samples.warm[0]).warn(expected=expected, seen=seen, fix=fix)
        return
    whole = [exchange for exchange in samples.freed or samples.hot if answered(exchange)]
    if vary(samples.hot) and whole and _chance(whole) is None:
        why = msg(
            "without log-probabilities, equal short answers prove nothing: {said}",
            said=shown(said(whole[0])),
        )
        raise NotApplicable(why)
    yield from _all_alike(whole, told=bool(unsteady))


def _all_alike(whole: list[Exchange], *, told: bool) -> Findings:
    """Equal answers at temperature 2: the model's certainty, or a temperature that has no effect."""
    if len(whole) < 2 or len(said(whole[0])) < _TELLING_CHARACTERS:
        if not told:
            why = msg(
                "too few answers, or too short to differ: {said}",
                said=[said(each) for each in whole[:1]],
            )
            raise NotApplicable(why)
        return
    chance = _chance(whole)
    if chance is not None and chance > _CHANCE:
        why = msg(
            "the model is so certain of its words that {whole} equal answers prove nothing",
            whole=len(whole),
        )
        raise NotApplicable(why)
    odds = (
        ""
        if chance is None
        else msg(", which honest sampling gives with probability {chance:.0e}", chance=chance)
    )
    seen = msg(
        "{whole} equal answers at temperature 2{odds}: {said}",
        whole=len(whole),
        odds=odds,
        said=shown(said(whole[0])),
    )
    fix = msg("pass temperature on to the engine, and fix no seed")
    yield about(whole[0]).fail(
        expected=msg("different answers at temperature 1 and 2"), seen=seen, fix=fix
    )


def _chance(answers: list[Exchange]) -> float | None:
    """The probability that all others repeat the first answer, by its log-probabilities; None without them.

    The log-probabilities are those before the temperature is applied (vLLM's raw_logprobs); at temperature 2 the
    model's preferred words are less likely, so this is an upper bound.
    """
    first = answers[0].folded
    if first.mean_logprob is None or first.usage is None:
        return None
    return math.exp(
        min(0.0, first.mean_logprob * first.usage.completion_tokens * (len(answers) - 1))
    )


def _unsteady(interview: Interview) -> Finding | None:
    repeats = [said(exchange) for exchange in interview.streams if answered(exchange)]
    if len(set(repeats)) < 2:
        return None
    answers = [numbers[-1] if (numbers := _NUMBER.findall(text)) else text for text in repeats]
    changed = sum(answer != answers[0] for answer in answers[1:])
    if not changed:
        first = shown(repeats[0], 80)
        return note(
            msg(
                "texts at temperature 0 differ from run to run, answers do not: {repeats}",
                repeats=first,
            )
        )
    expected = msg("the same answer to the same request at temperature 0")
    first, second = (shown(text, 80) for text in repeats[:2])
    seen = msg(
        "{changed} of {answers} repeats: {first}, then {second}",
        changed=changed,
        answers=len(answers) - 1,
        first=first,
        second=second,
    )
    fix = msg("pass temperature 0 on to the engine; batches and graphs can change the last bits")
    return about(interview.streams[0]).warn(expected=expected, seen=seen, fix=fix)
