"""features/parameters: max_tokens, stop, n, seed, temperature and top_p are enforced, and no content is lost."""

from __future__ import annotations

from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.extensions.features.judgement import split
from healthcheck.extensions.features.records import (
    AGAIN,
    GREEDY,
    HELLO,
    LIMIT,
    NARROW,
    SEED,
    STOP,
    TWO,
    Answer,
    FeaturesRun,
)
from healthcheck.extensions.features.schema import list_at, quoted
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg

_LONGEST = 5 * 16
"""Characters of five tokens, at most: a server may count none, or too few."""
_ALIKE = (SEED, GREEDY, NARROW)
_FIX = msg("look whether a proxy or the engine drops the parameter: ask the engine's own port")


@check(
    "features/parameters",
    msg("Parameters are enforced, and content is not empty"),
    stage=FEATURES,
    why=msg(
        "A parameter that is dropped in silence costs tokens or shows text that the client has to cut off."
    ),
)
def parameters(run: FeaturesRun) -> Findings:
    """`max_tokens` 5 ends an answer after at most 5 tokens, and one of 5 says finish_reason "length". `stop` with
    three characters from the middle of an earlier answer leaves none of them in the text. `n` 2 gives two choices.
    The same request gives the same text and thoughts at temperature 1 with a `seed`, at `temperature` 0, and at
    temperature 1.5 with a `top_p` of 0.0001, which leaves one token to choose from; a difference warns, since
    batches of other requests may cause it. An answer of several tokens that ended by itself has content: without,
    a parser has lost it.

    Repair: ask the engine directly, without the proxy before it; for lost content, `--reasoning-parser` of the
    model.

    Example:
    ```json max_tokens
    {"choices": [{"message": {"content": "1, 2, 3, 4, 5, 6, 7, 8"}, "finish_reason": "stop"}],
     "usage": {"prompt_tokens": 20, "completion_tokens": 16}}
    ```

    Use instead:

    ```json max_tokens
    {"choices": [{"message": {"content": "1, 2, 3"}, "finish_reason": "length"}],
     "usage": {"prompt_tokens": 20, "completion_tokens": 5}}
    ```
    """
    answers, findings = split(
        run, (LIMIT, HELLO, STOP, TWO, *(name + more for name in _ALIKE for more in ("", AGAIN)))
    )
    yield from findings
    for name, answer in answers.items():
        tokens, text, stop = answer.tokens or 0, answer.text, list_at(run.asked[STOP], "stop")
        wrong, expected = {
            LIMIT: (
                _exceeds(answer),
                msg("at most 5 tokens, and finish_reason length where they are 5"),
            ),
            STOP: (
                any(str(each) in text for each in stop),
                msg("no {stop} in the text", stop=quoted(stop)),
            ),
            TWO: (answer.choices != 2, msg("two choices")),
            HELLO: (not text.strip() and answer.finish == "stop" and tokens > 1, msg("content")),
        }.get(name, (False, ""))
        if wrong:
            seen = msg(
                "{tokens} tokens, {n} choices, finish_reason {finish}, {text}, reasoning {more}",
                tokens=tokens,
                n=answer.choices,
                finish=answer.finish,
                text=quoted(text),
                more=quoted(answer.reasoning),
            )
            yield fail(expected=expected, seen=seen, fix=_FIX, where=name)
    for name in _ALIKE:
        first, second = answers.get(name), answers.get(name + AGAIN)
        if not (first and second):
            continue
        said, again = first.reasoning + first.text, second.reasoning + second.text
        if said != again:
            seen = msg("{first}, then {second}", first=quoted(said), second=quoted(again))
            expected = msg(
                "the same text twice with {parameter}", parameter=f"{name} {run.asked[name][name]}"
            )
            yield warn(expected=expected, seen=seen, fix=_FIX, where=name)


def _exceeds(answer: Answer) -> bool:
    """Whether the answer has more than five tokens, or ended with the fifth and says something else."""
    tokens = answer.tokens or 0
    long = len(answer.text + answer.reasoning) > _LONGEST
    return tokens > 5 or long or (tokens == 5 and answer.finish != "length")
