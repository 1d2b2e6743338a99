"""Every fault by name. `npu-adapter simulate --list` prints this table."""

from __future__ import annotations

import re

from healthcheck.simulator import hearing, speaking, streaming
from healthcheck.simulator.faults import Fault, hears, reply


def _fault(name: str, check: str, text: str, **joints: object) -> Fault:
    return Fault(name=name, check=f"endpoint/{check}", text=text, **joints)  # type: ignore[arg-type]


_ALL = (
    _fault("api-key", "no-auth", "401 without an API key", refuse=hearing.refuses_all),
    _fault("models-500", "models", "GET /v1/models answers 500",
           refuse=lambda r: reply(500, {"detail": "Internal Server Error"}) if hearing.models(r) else None),
    _fault("models-404", "models", "there is no /v1/models",
           refuse=lambda r: reply(404, {"detail": "Not Found"}) if hearing.models(r) else None),
    _fault("models-empty", "models", "/v1/models lists nothing",
           refuse=lambda r: reply(200, {"object": "list", "data": []}) if hearing.models(r) else None),
    _fault("models-html", "models", "/v1/models answers a web page",
           refuse=lambda r: reply(200, b"<html>It works!</html>") if hearing.models(r) else None),
    _fault("hangs", "models", "connections are taken, and nothing is ever answered", deaf=True),
    _fault("other-name", "model-name", "another name than the weight path is served", serves="another-model"),
    _fault("chat-404", "stream", "there is no /v1/chat/completions",
           refuse=lambda r: reply(404, {"detail": "Not Found"}) if hearing.chat(r) else None),
    _fault("chat-500", "stream", "every chat request fails",
           refuse=lambda r: reply(500, {"detail": "Internal Server Error"}) if hearing.chat(r) else None),
    _fault("redirect", "stream", "chat requests are redirected",
           refuse=lambda r: reply(307, {}, location="http://127.0.0.1:9/v1") if hearing.chat(r) else None),
    _fault("never-streams", "stream", "stream: true is ignored", streams=False),
    _fault("error-event", "stream", "an error event inside a 200 stream", stream=streaming.error_event),
    _fault("says-nothing", "stream", "streams without any text", speak=speaking.nothing),
    _fault("reasoning-only", "stream", "the whole answer is in the reasoning field", speak=speaking.only_reasoning),
    _fault("never-answers", "stream", "chat requests are taken and never answered",
           hangs=lambda r, _: hearing.chat(r)),
    _fault("stalls", "stream-finish", "streams stop in the middle, the connection stays open", stalls=True),
    _fault("hangs-at-45", "stream-finish", "the 45th chat request is never answered, all others are",
           hangs=hearing.hangs_at(45)),
    _fault("event-lines", "stream-framing", "`event:` lines before `data:`", stream=streaming.event_lines),
    _fault("id-lines", "stream-framing", "`id:` lines before `data:`", stream=streaming.id_lines),
    _fault("one-newline", "stream-framing", "no blank line between events", stream=streaming.one_newline),
    _fault("single-quotes", "stream-framing", "Python's repr instead of JSON", stream=streaming.single_quotes),
    _fault("not-utf8", "stream-framing", "bytes that are not UTF-8", stream=streaming.latin),
    _fault("after-comment", "stream-framing", "data in the same block as a comment",
           stream=streaming.after_comment),
    _fault("message-for-delta", "stream-framing", "`message` instead of `delta`",
           stream=streaming.message_for_delta),
    _fault("null-choices", "stream-framing", "`choices` is null in the usage chunk", stream=streaming.null_choices),
    _fault("json-type", "stream-framing", "a stream of the content type application/json", warns=True,
           content_type="application/json"),
    _fault("plain-type", "stream-framing", "a stream of the content type text/plain", warns=True,
           content_type="text/plain; charset=utf-8"),
    _fault("burst", "stream-incremental", "everything comes at the end", stream=streaming.burst),
    _fault("no-finish", "stream-finish", "no finish_reason", stream=streaming.no_finish),
    _fault("cut-cleanly", "stream-finish", "streams end in the middle", stream=streaming.cut_cleanly),
    _fault("cut", "stream-finish", "connections break in the middle", stream=streaming.cut),
    _fault("no-done", "stream-finish", "no [DONE] at the end", warns=True, stream=streaming.no_done),
    _fault("wrong-usage", "stream-usage", "usage counts nothing", stream=streaming.wrong_usage),
    _fault("lost-token", "stream-equals-plain", "the last token is missing from streams",
           stream=streaming.lost_token),
    _fault("doubled-token", "stream-equals-plain", "the first token comes twice in streams",
           stream=streaming.doubled_token),
    _fault("no-plain", "stream-equals-plain", "500 without stream: true", warns=True, refuse=hearing.no_plain),
    _fault("cut-characters", "unicode", "characters of several bytes are cut between events",
           stream=streaming.cut_characters),
    _fault("mojibake", "unicode", "UTF-8 taken for Latin-1", stream=streaming.mojibake),
    _fault("drops-characters", "unicode", "characters that are split between two tokens are dropped from streams",
           stream=streaming.dropped_characters),
    _fault("ignores-max-tokens", "max-tokens", "max_tokens is ignored",
           hear=lambda r: hears(r, max_tokens=max(200, int(r.number_of("max_tokens", 0))))),
    _fault("caps-output", "max-tokens", "answers are cut at 100 tokens whatever was asked", speak=speaking.capped),
    _fault("hides-truncation", "max-tokens", "a truncated answer says finish_reason stop",
           speak=speaking.never_cut),
    _fault("limit-counts-prompt", "max-tokens", "max_tokens counts the prompt too, which usage hides",
           speak=speaking.less_the_prompt),
    _fault("special-tokens", "stop-or-eos", "the end-of-turn token is in the text", speak=speaking.runs_on),
    _fault("ignores-stop", "stop-or-eos", "stop strings are ignored", warns=True,
           hear=lambda r: hears(r, stop=None)),
    _fault("ignores-sampling", "sampling", "temperature is ignored", hear=lambda r: hears(r, temperature=0)),
    _fault("unsteady", "sampling", "answers differ at temperature 0", warns=True,
           hear=lambda r: hears(r, temperature=1)),
    _fault("garbage", "degenerate", "every answer is !!!!!!!!", speak=speaking.exclaims),
    _fault("falls-into-a-loop", "degenerate", "after some tens of tokens one phrase comes again and again",
           speak=speaking.loops),
    _fault("strict-fields", "extra-fields", "422 to the evaluation client's extra fields",
           refuse=hearing.refuses_extra),
    _fault("five-choices", "extra-fields", "num_return_sequences gives five choices in one stream",
           with_field="num_return_sequences", stream=streaming.five_choices),
    _fault("forgets-history", "multi-turn", "only the last message is heard", hear=hearing.last_only),
    _fault("refuses-history", "multi-turn", "400 to more than one message", refuse=hearing.refuses_history),
    _fault("first-turn-only", "multi-turn", "only the first user message is heard, and all are counted",
           hear=hearing.first_turn_only, counts_all=True),
    _fault("shared-history", "isolation", "every request is answered after the messages of all earlier ones",
           recall=hearing.after_everybody, counts_all=True),
    _fault("forgets-system", "system-role", "the system message is ignored", hear=hearing.without_system),
    _fault("refuses-system", "system-role", "400 to a system message", warns=True, refuse=hearing.refuses_system),
    _fault("cuts-prompt", "long-prompt", "long prompts are cut in silence", hear=hearing.tail_only),
    _fault("halves-prompt", "long-prompt", "prompts of more than 200 tokens lose their first half",
           hear=hearing.halved),
    _fault("cuts-at-4096", "long-prompt", "the last 4096 tokens of a prompt are heard", hear=hearing.last_tokens),
    _fault("drops-middle", "long-prompt", "prompts of more than 200 tokens lose their middle third",
           hear=hearing.without_middle),
    _fault("long-prompt-500", "long-prompt", "long prompts make it fail", refuse=hearing.fails_long),
    _fault("cross-talk", "concurrency", "parallel streams get each other's text", pause_s=0.05,
           mingle=speaking.anothers),
    _fault("mixes-tokens", "concurrency", "single tokens of one parallel stream slip into another", pause_s=0.05,
           mingle=speaking.mixed),
    _fault("swaps-tokens", "concurrency", "neighbouring tokens of parallel streams are swapped", pause_s=0.05,
           mingle=speaking.swapped),
    _fault("hangs-in-a-crowd", "concurrency", "more than four parallel streams wait for ever", pause_s=0.05,
           hangs=hearing.hangs_in_a_crowd),
    _fault("busy", "concurrency", "503 to the fourth parallel request", pause_s=0.05, refuse=hearing.busy),
    _fault("stuck-after-disconnect", "disconnect", "never answers again after a client went away", step_s=0.005,
           sticks_after="disconnect", hangs=hearing.hangs_when_stuck),
    _fault("stuck-after-bad-request", "bad-request", "never answers again after a malformed request",
           sticks_after="problem", hangs=hearing.hangs_when_stuck),
    _fault("bad-request-500", "bad-request", "500 to malformed requests", warns=True, malformed=500),
    _fault("answers-broken-json", "bad-request", "malformed requests are answered with 200 and a completion",
           warns=True, malformed=200),
    _fault("ignores-images", "image", "pictures are ignored", hear=hearing.without_pictures),
    _fault("refuses-images", "image", "400 to pictures", refuse=hearing.refuses_images),
)  # fmt: skip
FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
_NUMBERED = re.compile(r"(dies-after|hangs-at)-(\d+)")
NUMBERED: dict[str, str] = {
    "dies-after-N": "stops serving after N chat requests",
    "hangs-at-N": "never answers the Nth chat request",
}


def named(name: str) -> Fault | None:
    """The fault of this name, None where there is none. `NUMBERED` have their number in it."""
    if name in FAULTS or not (found := _NUMBERED.fullmatch(name)):
        return FAULTS.get(name)
    kind, number = found.group(1), int(found.group(2))
    if kind == "dies-after":
        return _fault(name, "stream", NUMBERED["dies-after-N"], dies_after=number)
    return _fault(name, "stream-finish", NUMBERED["hangs-at-N"], hangs=hearing.hangs_at(number))
