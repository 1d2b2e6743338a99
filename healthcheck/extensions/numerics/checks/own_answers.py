"""numerics/own-answers: the model finds its own answers likely."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.extensions.numerics.judgement import CERTAIN, Judgement, cells
from healthcheck.extensions.numerics.records import NumericsRun
from healthcheck.extensions.numerics.stage import NUMERICS
from healthcheck.text.messages import msg

_SURE = 3


@check(
    "numerics/own-answers",
    msg("The model finds its own answers likely"),
    stage=NUMERICS,
    why=msg(
        "A token that the model calls unlikely was put there by something else: the accuracy is no longer its own."
    ),
    requires=("numerics/repeat",),
)
def own_answers(run: NumericsRun) -> Findings:
    """Word problems are asked by `{chat_path}` all at once, as streams and at temperature 0. Then the server scores
    each answer behind its problem (`prompt_logprobs`, one at a time). Each token of a greedy answer is the
    likeliest one, or close behind it where a batch rounds otherwise. One that is 2 nats behind came from elsewhere:
    from another prompt or another replica, from a draft or a sampler that passes over tokens, or from a front that
    changes the text.

    One or two answers of twenty with such a token are a warning, three are a failure. Where another relation shows
    a fault already, this is not judged. Answers with thoughts, and servers without `prompt_logprobs`, are skipped.

    Repair: ask the same problem alone and without the front. If the answer changes, look at the front and at what
    requests share; if not, leave out --speculative-config and plugins that change logits.

    Example:
    ```text an answer, and what is likeliest in a place
    17+25=43. The answer is 42.    “3” is 9.1 nats behind “2”
    ```

    Use instead:

    ```text an answer, and what is likeliest in a place
    17+25=42. The answer is 42.    each token is the likeliest
    ```
    """
    if any(cell.judgement is Judgement.FAULT for cell in cells(run.pairs)):
        raise NotApplicable(msg("other log-probabilities differ already"))
    if not run.own_answers:
        raise NotApplicable(
            msg(
                "the server scores no prompts (prompt_logprobs), or its template puts thoughts before an answer"
            )
        )
    unlikely = (each for each in run.own_answers if each.behind > CERTAIN)
    found = sorted(unlikely, key=lambda each: -each.behind)
    if not found:
        yield note(msg("{answers} answers", answers=len(run.own_answers)))
        return
    worst = found[0]
    yield (fail if len(found) >= _SURE else warn)(
        expected=msg(
            "tokens at most {limit:g} nats behind the likeliest one in answers at temperature 0",
            limit=CERTAIN,
        ),
        seen=msg(
            "{found} of {answers} answers have others: {token:.40} is {behind:.1f} nats behind {likeliest:.40} in "
            "{answer:.200}",
            found=len(found),
            answers=len(run.own_answers),
            token=repr(worst.token),
            behind=worst.behind,
            likeliest=repr(worst.likeliest),
            answer=worst.answer,
        ),
        fix=msg(
            "ask the same alone and without the front, then without --speculative-config and plugins"
        ),
    )
