"""Every fault by name. `npu-adapter simulate --list` prints this table."""

from __future__ import annotations

import re

from healthcheck.extensions.simulator import generation_faults as outputs
from healthcheck.extensions.simulator import logit_faults as kernels
from healthcheck.extensions.simulator import request_faults as inputs
from healthcheck.extensions.simulator import stream_faults as streams
from healthcheck.extensions.simulator.faults import Fault
from healthcheck.text.messages import Message, msg


def _fault(name: str, check: str, text: str, **joints: object) -> Fault:
    return Fault(name=name, check=f"endpoint/{check}", text=Message(text), **joints)  # type: ignore[arg-type]


def _kernel(name: str, check: str, text: str, **joints: object) -> Fault:
    """A fault of /v1/completions alone, which `npu-adapter numerics` finds."""
    return Fault(name=name, check=f"numerics/{check}", text=Message(text), **joints)  # type: ignore[arg-type]


_ALL = (
    _fault("api-key", "no-auth", msg("401 without an API key"), refuse=inputs.refuses_all),
    _fault("models-500", "models", msg("GET /v1/models answers 500"), refuse=inputs.at_models(500)),
    _fault("models-404", "models", msg("there is no /v1/models"), refuse=inputs.at_models(404)),
    _fault(
        "models-empty",
        "models",
        msg("/v1/models lists nothing"),
        refuse=inputs.at_models(200, {"object": "list", "data": []}),
    ),
    _fault(
        "models-html",
        "models",
        msg("/v1/models answers a web page"),
        refuse=inputs.at_models(200, b"<html>It works!</html>"),
    ),
    _fault("hangs", "models", msg("connections are accepted and never answered"), deaf=True),
    _fault(
        "other-name",
        "model-name",
        msg("another name than the weight path is served"),
        serves="another-model",
    ),
    _fault(
        "chat-404", "stream", msg("there is no route for chat requests"), refuse=inputs.at_chat(404)
    ),
    _fault("chat-500", "stream", msg("every chat request fails"), refuse=inputs.at_chat(500)),
    _fault(
        "redirect",
        "stream",
        msg("chat requests are redirected"),
        refuse=inputs.at_chat(307, {}, location="http://127.0.0.1:9/v1"),
    ),
    _fault("never-streams", "stream", msg("stream: true is ignored"), streams=False),
    _fault(
        "error-event",
        "stream",
        msg("an error event inside a 200 stream"),
        on_stream=streams.error_event,
    ),
    _fault(
        "says-nothing", "stream", msg("streams without any text"), on_generation=outputs.nothing
    ),
    _fault(
        "reasoning-only",
        "stream",
        msg("the whole answer is in the reasoning field"),
        on_generation=outputs.only_reasoning,
    ),
    _fault(
        "never-answers",
        "stream",
        msg("chat requests are accepted and never answered"),
        hangs=lambda r, _: inputs.chat(r),
    ),
    _fault(
        "stalls",
        "stream-finish",
        msg("streams stop in the middle, the connection stays open"),
        stalls=True,
    ),
    _fault(
        "hangs-at-45",
        "stream-finish",
        msg("the 45th chat request is never answered, all others are"),
        hangs=inputs.hangs_at(45),
    ),
    _fault(
        "event-lines",
        "stream-framing",
        msg("`event:` lines before `data:`"),
        on_stream=streams.event_lines,
    ),
    _fault(
        "id-lines", "stream-framing", msg("`id:` lines before `data:`"), on_stream=streams.id_lines
    ),
    _fault(
        "one-newline",
        "stream-framing",
        msg("no blank line between events"),
        on_stream=streams.one_newline,
    ),
    _fault(
        "single-quotes",
        "stream-framing",
        msg("Python's repr instead of JSON"),
        on_stream=streams.single_quotes,
    ),
    _fault("not-utf8", "stream-framing", msg("bytes that are not UTF-8"), on_stream=streams.latin),
    _fault(
        "after-comment",
        "stream-framing",
        msg("data in the same block as a comment"),
        on_stream=streams.after_comment,
    ),
    _fault(
        "message-for-delta",
        "stream-framing",
        msg("`message` instead of `delta`"),
        on_stream=streams.message_for_delta,
    ),
    _fault(
        "null-choices",
        "stream-framing",
        msg("`choices` is null in the usage chunk"),
        on_stream=streams.null_choices,
    ),
    _fault(
        "json-type",
        "stream-framing",
        msg("a stream of the content type application/json"),
        warns=True,
        content_type="application/json",
    ),
    _fault(
        "plain-type",
        "stream-framing",
        msg("a stream of the content type text/plain"),
        warns=True,
        content_type="text/plain; charset=utf-8",
    ),
    _fault(
        "burst",
        "stream-incremental",
        msg("the whole stream is sent at the end"),
        on_stream=streams.burst,
    ),
    _fault("no-finish", "stream-finish", msg("no finish_reason"), on_stream=streams.no_finish),
    _fault(
        "cut-cleanly",
        "stream-finish",
        msg("streams end in the middle"),
        on_stream=streams.cut_cleanly,
    ),
    _fault("cut", "stream-finish", msg("connections break in the middle"), on_stream=streams.cut),
    _fault(
        "no-done",
        "stream-finish",
        msg("no [DONE] at the end"),
        warns=True,
        on_stream=streams.no_done,
    ),
    _fault(
        "late-text",
        "stream-finish",
        msg("the last text comes after finish_reason"),
        warns=True,
        on_stream=streams.late_text,
    ),
    _fault(
        "wrong-usage", "stream-usage", msg("usage has zero counts"), on_stream=streams.wrong_usage
    ),
    _fault(
        "lost-token",
        "stream-equals-plain",
        msg("the last token is missing from streams"),
        on_stream=streams.lost_token,
    ),
    _fault(
        "doubled-token",
        "stream-equals-plain",
        msg("the first token is sent twice in streams"),
        on_stream=streams.doubled_token,
    ),
    _fault(
        "repeats-tokens",
        "stream-equals-plain",
        msg("single tokens are sent twice, at random, in streams"),
        on_overlap=outputs.repeated,
    ),
    _fault(
        "swaps-alone",
        "stream-equals-plain",
        msg("neighbouring tokens are swapped, at random, in streams"),
        on_overlap=outputs.swapped_alone,
    ),
    _fault(
        "loses-40th",
        "stream-equals-plain",
        msg("the 40th token of each stream is lost"),
        on_stream=streams.without_40th,
    ),
    _fault(
        "no-plain",
        "stream-equals-plain",
        msg("500 without stream: true"),
        warns=True,
        refuse=inputs.no_plain,
    ),
    _fault(
        "cut-characters",
        "unicode",
        msg("characters of several bytes are cut between events"),
        on_stream=streams.cut_characters,
    ),
    _fault("mojibake", "unicode", msg("UTF-8 taken for Latin-1"), on_stream=streams.mojibake),
    _fault(
        "drops-characters",
        "unicode",
        msg("characters that are split between two tokens are dropped from streams"),
        on_stream=streams.dropped_characters,
    ),
    _fault(
        "drops-non-ascii",
        "unicode",
        msg("characters of several bytes are dropped from streams"),
        on_stream=streams.ascii_only,
    ),
    _fault(
        "loses-prompt-characters",
        "unicode",
        msg("only the ASCII characters of a prompt reach the model"),
        on_request=inputs.ascii_prompts,
    ),
    _fault(
        "ignores-max-tokens",
        "max-tokens",
        msg("max_tokens is ignored"),
        on_request=inputs.unlimited,
    ),
    _fault(
        "caps-output",
        "max-tokens",
        msg("answers are cut at 100 tokens whatever max_tokens is"),
        on_generation=outputs.capped,
    ),
    _fault(
        "hides-truncation",
        "max-tokens",
        msg("a truncated answer says finish_reason stop"),
        on_generation=outputs.never_cut,
    ),
    _fault(
        "always-length",
        "max-tokens",
        msg("every answer says finish_reason length"),
        on_generation=outputs.always_cut,
    ),
    _fault(
        "limit-counts-prompt",
        "max-tokens",
        msg("max_tokens counts the prompt too, which usage hides"),
        on_generation=outputs.less_the_prompt,
    ),
    _fault(
        "special-tokens",
        "stop-or-eos",
        msg("the end-of-turn token is in the text"),
        on_generation=outputs.runs_on,
    ),
    _fault(
        "never-ends",
        "stop-or-eos",
        msg("every answer goes on to max_tokens"),
        warns=True,
        on_request=inputs.sets(ignore_eos=True),
    ),
    _fault(
        "ignores-stop",
        "stop-or-eos",
        msg("stop strings are ignored"),
        warns=True,
        on_request=inputs.sets(stop=None),
    ),
    _fault(
        "ignores-sampling",
        "sampling",
        msg("temperature is ignored"),
        on_request=inputs.sets(temperature=0),
    ),
    _fault(
        "unsteady",
        "sampling",
        msg("answers differ at temperature 0"),
        warns=True,
        on_request=inputs.sets(temperature=1),
    ),
    _fault(
        "garbage", "degenerate", msg("every answer is !!!!!!!!"), on_generation=outputs.exclaims
    ),
    _fault(
        "token-markers",
        "degenerate",
        msg("spaces stay the markers of the tokenizer, as in The▁answer"),
        on_generation=outputs.undecoded,
    ),
    _fault(
        "falls-into-a-loop",
        "degenerate",
        msg("after some tens of tokens one phrase is repeated"),
        on_generation=outputs.loops,
    ),
    _fault(
        "strict-fields",
        "extra-fields",
        msg("422 to the evaluation client's extra fields"),
        refuse=inputs.refuses_extra,
    ),
    _fault(
        "five-choices",
        "extra-fields",
        msg("num_return_sequences gives five choices in one stream"),
        with_field="num_return_sequences",
        on_stream=streams.five_choices,
    ),
    _fault(
        "forgets-history",
        "multi-turn",
        msg("only the last message reaches the model"),
        on_request=inputs.last_only,
    ),
    _fault(
        "refuses-history",
        "multi-turn",
        msg("400 to more than one message"),
        refuse=inputs.refuses_history,
    ),
    _fault(
        "first-turn-only",
        "multi-turn",
        msg("only the first user message reaches the model, and all are counted"),
        on_request=inputs.first_turn_only,
        counts_all=True,
    ),
    _fault(
        "counts-forgotten-history",
        "multi-turn",
        msg("only the last message reaches the model, and all are counted"),
        warns=True,
        on_request=inputs.last_only,
        counts_all=True,
    ),
    _fault(
        "shared-history",
        "isolation",
        msg("every request is answered after the messages of all earlier ones"),
        on_request=inputs.after_everybody,
        counts_all=True,
    ),
    _fault(
        "forgets-system",
        "system-role",
        msg("the system message is ignored"),
        on_request=inputs.without_system,
    ),
    _fault(
        "counts-forgotten-system",
        "system-role",
        msg("the system message is ignored, and counted"),
        warns=True,
        on_request=inputs.without_system,
        counts_all=True,
    ),
    _fault(
        "refuses-system",
        "system-role",
        msg("400 to a system message"),
        warns=True,
        refuse=inputs.refuses_system,
    ),
    _fault(
        "cuts-prompt",
        "long-prompt",
        msg("long prompts are cut silently"),
        on_request=inputs.tail_only,
    ),
    _fault(
        "halves-prompt",
        "long-prompt",
        msg("prompts of more than 200 tokens lose their first half"),
        on_request=inputs.halved,
    ),
    _fault(
        "cuts-at-4096",
        "long-prompt",
        msg("only the last 4096 tokens of a prompt reach the model"),
        on_request=inputs.last_tokens,
    ),
    _fault(
        "counts-lost-half",
        "long-prompt",
        msg("prompts of more than 200 tokens lose their first half, counted"),
        warns=True,
        on_request=inputs.halved,
        counts_all=True,
    ),
    _fault(
        "counts-lost-beginning",
        "long-prompt",
        msg("only the last 4096 tokens reach the model, and all are counted"),
        warns=True,
        on_request=inputs.last_tokens,
        counts_all=True,
    ),
    _fault(
        "drops-middle",
        "long-prompt",
        msg("prompts of more than 200 tokens lose their middle third"),
        on_request=inputs.without_middle,
    ),
    _fault("long-prompt-500", "long-prompt", msg("500 to long prompts"), refuse=inputs.fails_long),
    _fault(
        "cross-talk",
        "concurrency",
        msg("parallel streams get each other's text"),
        pause_s=0.05,
        on_overlap=outputs.anothers,
    ),
    _fault(
        "mixes-tokens",
        "concurrency",
        msg("single tokens of one parallel stream slip into another"),
        pause_s=0.05,
        on_overlap=outputs.mixed,
    ),
    _fault(
        "swaps-tokens",
        "concurrency",
        msg("neighbouring tokens of parallel streams are swapped"),
        pause_s=0.05,
        on_overlap=outputs.swapped,
    ),
    _fault(
        "hangs-in-a-crowd",
        "concurrency",
        msg("more than four parallel streams wait forever"),
        pause_s=0.05,
        hangs=inputs.hangs_in_a_crowd,
    ),
    _fault(
        "busy",
        "concurrency",
        msg("503 to the fourth parallel request"),
        pause_s=0.05,
        refuse=inputs.busy,
    ),
    _fault(
        "stuck-after-disconnect",
        "disconnect",
        msg("never answers again after a client disconnects"),
        step_s=0.005,
        sticks_after="disconnect",
        hangs=inputs.hangs_when_stuck,
    ),
    _fault(
        "stuck-after-bad-request",
        "bad-request",
        msg("never answers again after a malformed request"),
        sticks_after="problem",
        hangs=inputs.hangs_when_stuck,
    ),
    _fault(
        "bad-request-500",
        "bad-request",
        msg("500 to malformed requests"),
        warns=True,
        malformed=500,
    ),
    _fault(
        "answers-broken-json",
        "bad-request",
        msg("malformed requests are answered with 200 and a completion"),
        warns=True,
        malformed=200,
    ),
    _fault(
        "ignores-images", "image", msg("pictures are ignored"), on_request=inputs.without_pictures
    ),
    _fault("refuses-images", "image", msg("400 to pictures"), refuse=inputs.refuses_images),
    _kernel(
        "flat-logprobs", "contrast", msg("all tokens are equally likely"), on_logits=kernels.flat
    ),
    _kernel(
        "never-repeats",
        "repeat",
        msg("every other completion has other log-probabilities"),
        on_logits=kernels.random_requests_garble,
    ),
    _kernel(
        "streams-garble",
        "interface",
        msg("completions as a stream come from another distribution"),
        on_logits=kernels.streams_garble,
    ),
    _kernel(
        "one-batch-size-garbles",
        "batch",
        msg("three completions at once are garbled"),
        pause_s=0.05,
        on_logits=kernels.one_batch_size_garbles,
    ),
    _kernel(
        "one-row-garbles",
        "batch",
        msg("one place in batches of five is garbled"),
        pause_s=0.05,
        on_logits=kernels.one_row_garbles,
    ),
    _kernel(
        "prefix-cache-garbles",
        "prefix-cache",
        msg("what follows a hit in the prefix cache is garbled"),
        on_logits=kernels.prefix_cache_garbles,
    ),
    _kernel(
        "chunked-prefill-garbles",
        "chunked-prefill",
        msg("long prompts are garbled while others decode"),
        step_s=0.003,
        on_logits=kernels.chunked_prefill_garbles,
    ),
    _kernel(
        "decode-drifts",
        "decode",
        msg("decoded tokens drift from prefilled ones"),
        warns=True,
        on_logits=kernels.decode_drifts,
    ),
    _kernel(
        "long-prompts-drift",
        "decode",
        msg("behind more than 300 tokens, decoded tokens drift"),
        warns=True,
        on_logits=kernels.long_prompts_drift,
    ),
    _kernel(
        "one-length-garbles",
        "length",
        msg("what is decoded behind prompts of 64 and 65 tokens is garbled"),
        on_logits=kernels.one_length_garbles,
    ),
    _kernel(
        "always-greedy",
        "sampler",
        msg("completions are drawn as with top_k 1 or temperature 0, whatever is asked"),
        on_choice=kernels.always_greedy,
    ),
    _kernel(
        "temperature-always-1",
        "sampler",
        msg("completions are drawn at temperature 1, whatever is asked"),
        on_choice=kernels.temperature_always_1,
    ),
    _kernel(
        "temperature-doubled",
        "sampler",
        msg("completions are drawn at twice the temperature"),
        on_choice=kernels.temperature_doubled,
    ),
    _kernel(
        "min-p",
        "sampler",
        msg("completions have only tokens half as likely as the likeliest (min_p 0.5)"),
        on_choice=kernels.min_p,
    ),
    _kernel(
        "repetition-penalty",
        "sampler",
        msg("completions are drawn with a repetition penalty of 1.5"),
        on_choice=kernels.repetition_penalty,
    ),
    _kernel(
        "logit-noise",
        "sampler",
        msg("noise of half a nat is added to the logits before each draw"),
        on_choice=kernels.logit_noise,
    ),
    _kernel(
        "replicas-share-a-seed",
        "sampler",
        msg("two replicas draw with the same seed, request after request"),
        warns=True,
        replicas_of_a_seed=2,
    ),
    _kernel(
        "wrong-normaliser",
        "sampler",
        msg("log-probabilities are told 0.3 too low"),
        on_choice=kernels.wrong_normaliser,
    ),
)
FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
_NUMBERED = re.compile(r"(dies-after|hangs-at)-(\d+)")
NUMBERED: dict[str, str] = {
    "dies-after-N": msg("stops serving after N chat requests"),
    "hangs-at-N": msg("never answers the Nth chat request"),
}


def named(name: str) -> Fault | None:
    """The fault of this name, None if there is none. Names in `NUMBERED` contain a number."""
    if name in FAULTS or not (found := _NUMBERED.fullmatch(name)):
        return FAULTS.get(name)
    kind, number = found.group(1), int(found.group(2))
    if kind == "dies-after":
        return _fault(name, "stream", NUMBERED["dies-after-N"], dies_after=number)
    return _fault(name, "stream-finish", NUMBERED["hangs-at-N"], hangs=inputs.hangs_at(number))
