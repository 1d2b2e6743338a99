"""Every fault by name. `npu-adapter simulate --list` prints this table."""

from __future__ import annotations

from dataclasses import replace

from healthcheck.records import JsonValue
from healthcheck.simulator.faults import Body, Fault, Reply, Stream, edited, edited_text, hears, refusal, reply
from healthcheck.simulator.messages import images_of, text_of
from healthcheck.simulator.mind import Spoken
from healthcheck.simulator.request import Request

EXTRA_FIELDS = ("ignore_eos", "num_return_sequences")


def _chat(request: Request) -> bool:
    return request.path.endswith("/chat/completions")


def _models(request: Request) -> bool:
    return request.path.endswith("/models")


def _refuse_all(request: Request) -> Reply | None:
    return None if "authorization" in request.headers else refusal(401, "Unauthorized: an API key is required")


def _refuse_extra(request: Request) -> Reply | None:
    unknown = [key for key in EXTRA_FIELDS if key in (request.body or {})]
    return reply(422, {"detail": f"Unexpected fields: {unknown}"}) if _chat(request) and unknown else None


def _refuse_history(request: Request) -> Reply | None:
    spoken = [m for m in request.messages if m.get("role") != "system"]
    return refusal(400, "only one message is supported") if len(spoken) > 1 else None


def _refuse_system(request: Request) -> Reply | None:
    system = any(m.get("role") == "system" for m in request.messages)
    return refusal(400, "System role not supported") if system else None


def _refuse_images(request: Request) -> Reply | None:
    pictures = any(images_of(m) for m in request.messages)
    return refusal(400, "this model is not a multimodal model") if pictures else None


def _fail_long(request: Request) -> Reply | None:
    return reply(500, {"detail": "Internal Server Error"}) if request.prompt_tokens > 600 else None


def _busy(request: Request) -> Reply | None:
    return refusal(503, "too many requests") if _chat(request) and request.beside >= 3 else None


def _no_plain(request: Request) -> Reply | None:
    return (
        reply(500, {"detail": "Internal Server Error"})
        if "max_tokens" in (request.body or {}) and not request.streamed
        else None
    )


def _without(request: Request, *, role: str) -> Request:
    return hears(request, messages=[dict(m) for m in request.messages if m.get("role") != role])


def _last_only(request: Request) -> Request:
    kept = [m for m in request.messages if m.get("role") == "system"] + list(request.messages[-1:])
    return hears(request, messages=[dict(m) for m in kept])


def _without_pictures(request: Request) -> Request:
    return hears(request, messages=[{**m, "content": text_of(m)} for m in request.messages])


def _tail_only(request: Request) -> Request:
    messages: list[JsonValue] = [dict(m) for m in request.messages]
    if messages and request.prompt_tokens > 400:
        last = dict(request.messages[-1])
        messages[-1] = {**last, "content": "".join(request.tokenizer.pieces(text_of(last))[-300:])}
    return hears(request, messages=messages)


def _cap(spoken: Spoken) -> Spoken:
    return replace(spoken, tokens=spoken.tokens[:100], finish="length") if len(spoken.tokens) > 100 else spoken


def _hide_truncation(spoken: Spoken) -> Spoken:
    return replace(spoken, finish="stop")


def _reason_only(spoken: Spoken) -> Spoken:
    return replace(spoken, tokens=(), reasoning=spoken.reasoning + spoken.tokens)


def _say_nothing(spoken: Spoken) -> Spoken:
    return replace(spoken, tokens=(), finish="stop")


def _run_on(spoken: Spoken) -> Spoken:
    return replace(spoken, tokens=(*spoken.tokens[:-1], "<|im_end|>")) if spoken.finish == "stop" else spoken


def _on(stream: Stream, **changes: object) -> Stream:
    return replace(stream, **changes)  # type: ignore[arg-type]


def _event_lines(stream: Stream) -> Stream:
    return _on(stream, begun=tuple(b"event: message\n" + block for block in stream.begun))


def _id_lines(stream: Stream) -> Stream:
    return _on(stream, begun=tuple(b"id: %d\n" % n + block for n, block in enumerate(stream.begun)))


def _one_newline(stream: Stream) -> Stream:
    return _on(stream, begun=tuple(b.rstrip() + b"\n" for b in stream.begun))


def _single_quotes(stream: Stream) -> Stream:
    return _on(stream, begun=tuple(b.replace(b'"', b"'") for b in stream.begun))


def _latin(stream: Stream) -> Stream:
    return _on(stream, begun=tuple(b.replace(b'"content": "', b'"content": "\xe9') for b in stream.begun))


def _after_comment(stream: Stream) -> Stream:
    return _on(stream, begun=tuple(b": ping\n" + b for b in stream.begun))


def _message_for_delta(event: Body) -> Body:
    for choice in event.get("choices") or []:  # type: ignore[union-attr]
        if isinstance(choice, dict) and "delta" in choice:
            choice["message"] = choice.pop("delta")
    return event


def _null_choices(event: Body) -> Body:
    return event if event.get("choices") else {**event, "choices": None}


def _no_finish(event: Body) -> Body:
    for choice in event.get("choices") or []:  # type: ignore[union-attr]
        if isinstance(choice, dict):
            choice["finish_reason"] = None
    return event


def _wrong_usage(event: Body) -> Body:
    usage: JsonValue = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return {**event, "usage": usage} if event.get("usage") else event


def _five(event: Body) -> Body:
    choices = event.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        event["choices"] = [{**choices[0], "index": index} for index in range(5)]
    return event


def _error_event(stream: Stream) -> Stream:
    half = stream.begun[: max(1, len(stream.begun) // 2)]
    error = b'data: {"error": {"message": "EngineCore encountered an issue", "code": 500}}\n\n'
    return _on(stream, begun=half, ended=(error, b"data: [DONE]\n\n"))


def _cut(stream: Stream, *, broken: bool) -> Stream:
    return _on(stream, begun=stream.begun[: max(1, len(stream.begun) // 2)], ended=(), broken=broken)


def _cut_characters(text: str) -> str:
    return "".join("��" if ord(char) > 0x2000 else char for char in text)


def _mojibake(text: str) -> str:
    return text.encode().decode("latin-1")


def _fault(name: str, check: str, text: str, **joints: object) -> Fault:
    return Fault(name=name, check=f"endpoint/{check}", text=text, **joints)  # type: ignore[arg-type]


_ALL = (
    _fault("api-key", "no-auth", "401 without an API key", refuse=_refuse_all),
    _fault("models-500", "models", "GET /v1/models answers 500",
           refuse=lambda r: reply(500, {"detail": "Internal Server Error"}) if _models(r) else None),
    _fault("models-404", "models", "there is no /v1/models",
           refuse=lambda r: reply(404, {"detail": "Not Found"}) if _models(r) else None),
    _fault("models-empty", "models", "/v1/models lists nothing",
           refuse=lambda r: reply(200, {"object": "list", "data": []}) if _models(r) else None),
    _fault("models-html", "models", "/v1/models answers a web page",
           refuse=lambda r: reply(200, b"<html>It works!</html>") if _models(r) else None),
    _fault("hangs", "models", "connections are taken, and nothing is ever answered"),
    _fault("other-name", "model-name", "another name than the weight path is served"),
    _fault("chat-404", "stream", "there is no /v1/chat/completions",
           refuse=lambda r: reply(404, {"detail": "Not Found"}) if _chat(r) else None),
    _fault("chat-500", "stream", "every chat request fails",
           refuse=lambda r: reply(500, {"detail": "Internal Server Error"}) if _chat(r) else None),
    _fault("redirect", "stream", "chat requests are redirected",
           refuse=lambda r: reply(307, {}, location="http://127.0.0.1:9/v1") if _chat(r) else None),
    _fault("never-streams", "stream", "stream: true is ignored"),
    _fault("error-event", "stream", "an error event inside a 200 stream", stream=_error_event),
    _fault("says-nothing", "stream", "streams without any text", speak=_say_nothing),
    _fault("reasoning-only", "stream", "the whole answer is in the reasoning field", speak=_reason_only),
    _fault("never-answers", "stream", "chat requests are taken and never answered"),
    _fault("stalls", "stream-finish", "streams stop in the middle, the connection stays open"),
    _fault("event-lines", "stream-framing", "`event:` lines before `data:`", stream=_event_lines),
    _fault("id-lines", "stream-framing", "`id:` lines before `data:`", stream=_id_lines),
    _fault("one-newline", "stream-framing", "no blank line between events", stream=_one_newline),
    _fault("single-quotes", "stream-framing", "Python's repr instead of JSON", stream=_single_quotes),
    _fault("not-utf8", "stream-framing", "bytes that are not UTF-8", stream=_latin),
    _fault("after-comment", "stream-framing", "data in the same block as a comment", stream=_after_comment),
    _fault("message-for-delta", "stream-framing", "`message` instead of `delta`",
           stream=lambda s: edited(s, _message_for_delta)),
    _fault("null-choices", "stream-framing", "`choices` is null in the usage chunk",
           stream=lambda s: edited(s, _null_choices)),
    _fault("burst", "stream-incremental", "everything comes at the end", stream=lambda s: _on(s, burst=True)),
    _fault("no-finish", "stream-finish", "no finish_reason", stream=lambda s: edited(s, _no_finish)),
    _fault("cut-cleanly", "stream-finish", "streams end in the middle", stream=lambda s: _cut(s, broken=False)),
    _fault("cut", "stream-finish", "connections break in the middle", stream=lambda s: _cut(s, broken=True)),
    _fault("no-done", "stream-finish", "no [DONE] at the end", warns=True,
           stream=lambda s: _on(s, ended=tuple(b for b in s.ended if b"[DONE]" not in b))),
    _fault("wrong-usage", "stream-usage", "usage counts nothing", stream=lambda s: edited(s, _wrong_usage)),
    _fault("lost-token", "stream-equals-plain", "the last token is missing from streams",
           stream=lambda s: _on(s, begun=s.begun[:-1])),
    _fault("doubled-token", "stream-equals-plain", "the first token comes twice in streams",
           stream=lambda s: _on(s, begun=(s.begun[0], s.begun[1], *s.begun[1:]) if len(s.begun) > 1 else s.begun)),
    _fault("no-plain", "stream-equals-plain", "500 without stream: true", warns=True, refuse=_no_plain),
    _fault("cut-characters", "unicode", "characters of several bytes are cut between events",
           stream=lambda s: edited_text(s, _cut_characters)),
    _fault("mojibake", "unicode", "UTF-8 taken for Latin-1", stream=lambda s: edited_text(s, _mojibake)),
    _fault("ignores-max-tokens", "max-tokens", "max_tokens is ignored",
           hear=lambda r: hears(r, max_tokens=max(200, int(r.number_of("max_tokens", 0))))),
    _fault("caps-output", "max-tokens", "answers are cut at 100 tokens whatever was asked", speak=_cap),
    _fault("hides-truncation", "max-tokens", "a truncated answer says finish_reason stop", speak=_hide_truncation),
    _fault("special-tokens", "stop-or-eos", "the end-of-turn token is in the text", speak=_run_on),
    _fault("ignores-stop", "stop-or-eos", "stop strings are ignored", warns=True,
           hear=lambda r: hears(r, stop=None)),
    _fault("ignores-sampling", "sampling", "temperature is ignored", hear=lambda r: hears(r, temperature=0)),
    _fault("unsteady", "sampling", "answers differ at temperature 0", warns=True,
           hear=lambda r: hears(r, temperature=1)),
    _fault("strict-fields", "extra-fields", "422 to the evaluation client's extra fields", refuse=_refuse_extra),
    _fault("five-choices", "extra-fields", "num_return_sequences gives five choices in one stream",
           with_field="num_return_sequences", stream=lambda s: edited(s, _five)),
    _fault("forgets-history", "multi-turn", "only the last message is heard", hear=_last_only),
    _fault("refuses-history", "multi-turn", "400 to more than one message", refuse=_refuse_history),
    _fault("forgets-system", "system-role", "the system message is ignored",
           hear=lambda r: _without(r, role="system")),
    _fault("refuses-system", "system-role", "400 to a system message", warns=True, refuse=_refuse_system),
    _fault("cuts-prompt", "long-prompt", "long prompts are cut in silence", hear=_tail_only),
    _fault("long-prompt-500", "long-prompt", "long prompts make it fail", refuse=_fail_long),
    _fault("cross-talk", "concurrency", "parallel streams get each other's text", pause_s=0.05),
    _fault("hangs-in-a-crowd", "concurrency", "more than four parallel streams wait for ever", pause_s=0.05),
    _fault("busy", "concurrency", "503 to the fourth parallel request", pause_s=0.05, refuse=_busy),
    _fault("stuck-after-disconnect", "disconnect", "never answers again after a client went away", step_s=0.005),
    _fault("stuck-after-bad-request", "bad-request", "never answers again after a malformed request"),
    _fault("bad-request-500", "bad-request", "500 to malformed requests", warns=True),
    _fault("ignores-images", "image", "pictures are ignored", hear=_without_pictures),
    _fault("refuses-images", "image", "400 to pictures", refuse=_refuse_images),
)  # fmt: skip
FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
