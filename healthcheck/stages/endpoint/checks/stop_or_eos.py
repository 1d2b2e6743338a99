"""endpoint/stop-or-eos: answers end at the end of turn."""

from __future__ import annotations

import re

from healthcheck.core.check import Findings, note
from healthcheck.stages.endpoint.answers import about, counted_tokens, said, shown, token_limit
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import ended, own_ends
from healthcheck.text.degenerate import flags
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

_TURNS = re.compile(
    r"<\|(?:im_start|im_end|endoftext|eot_id|eom_id|start_header_id|end_header_id|begin_of_text|end_of_text|end|eot|"
    r"user|assistant|system|observation|end_of_turn|END_OF_TURN_TOKEN|START_OF_TURN_TOKEN|role_start|role_end|start|"
    r"message|channel|return)\|>|<｜(?:end▁of▁sentence|begin▁of▁sentence|User|Assistant)｜>|</?s>|<(?:bos|eos|pad)>|"
    r"<(?:end|start)_of_turn>|\[EOS\]|\[/?INST\]|\[gMASK\]"
)
"""Tokens that begin or end a turn in the templates of Qwen, Llama, Phi, GLM, Command, Granite, gpt-oss, DeepSeek,
Mistral and Gemma.
"""
_FILLED = 0.9
_OTHER = re.compile(r"<\|[A-Za-z][\w ]{1,40}\|>|<｜[^｜<>]{1,40}｜>")


@check(
    "endpoint/stop-or-eos",
    msg("Answers end at the end of turn"),
    why=msg(
        "An end-of-turn token in the text shows that the model did not stop there; the text after it is scored."
    ),
    requires=("endpoint/stream-finish",),
)
def stop_or_eos(interview: Interview) -> Findings:
    """The tokens that begin and end turns (<|im_end|>, </s>, <|eot_id|>) must not appear in the text.

    If they do, the server does not stop at the end-of-turn token (generation_config.json and tokenizer_config.json
    disagree, or the chat template belongs to another model), or it does not skip special tokens. Other marks may be
    intended (GLM-4.5V writes its answer between <|begin_of_box|> and <|end_of_box|>); they are noted. If no answer
    of the interview ends by itself, a greeting with much room is requested; if max_tokens cuts that as well, the
    check warns.

    Repair: put the end-of-turn token into eos_token_id of generation_config.json, and use the model's own template.
    Simulated by: npu-adapter simulate --fault special-tokens (ignores-stop, never-ends)

    Example:
    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris.<|im_end|>"}, "finish_reason": "stop"}]}

    data: [DONE]
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "Paris."}, "finish_reason": "stop"}]}

    data: [DONE]
    ```
    """
    own_end = tuple(own_ends(interview))
    turns = [(exchange, found) for exchange in own_end if (found := _TURNS.search(said(exchange)))]
    if turns:
        exchange, found = turns[0]
        expected = msg("text without the tokens that open and end turns")
        around = shown(said(exchange)[max(0, found.start() - 60) :], 160)
        seen = msg("{group} in {said}", group=repr(found.group()), said=around)
        fix = msg(
            "put the end-of-turn token into eos_token_id of generation_config.json; skip special tokens"
        )
        yield about(exchange).fail(expected=expected, seen=seen, fix=fix)
    elif marks := sorted(
        {found.group() for exchange in own_end if (found := _OTHER.search(said(exchange)))}
    ):
        few = ", ".join(marks[:3])
        yield note(
            msg(
                "marks in the text: {marks}; check that the model is meant to write them", marks=few
            )
        )
    last = interview.to_the_end
    if not turns and last and not any(map(ended, own_end)) and _fills_with_text(last):
        expected = msg("an answer that ends by itself")
        seen = msg(
            "none of {answers} did, not even a greeting in one word, after {tokens} tokens: {last}",
            answers=len(own_end),
            tokens=token_limit(last),
            last=shown(said(last)[-80:]),
        )
        fix = msg(
            "look for the end-of-turn token in eos_token_id of generation_config.json, and for ignore_eos"
        )
        yield about(last).warn(expected=expected, seen=seen, fix=fix)
    stopped = interview.stopped
    if stopped and interview.stop_word and said(stopped).partition(interview.stop_word)[2].strip():
        expected = msg(
            "an answer that ends at the stop string {stop_word}",
            stop_word=repr(interview.stop_word),
        )
        fix = msg("pass `stop` on to the engine; the service sends none, other clients do")
        yield about(stopped).warn(expected=expected, seen=shown(said(stopped)), fix=fix)


def _fills_with_text(exchange: Exchange) -> bool:
    """Whether max_tokens cut an answer; loops and garbage, which do not end either, are endpoint/degenerate's."""
    garbage = {*flags(said(exchange), cut=True)} - {"implausible_words"}
    filled = counted_tokens(exchange) >= _FILLED * token_limit(exchange)
    return filled and bool(exchange.folded.text) and not garbage
