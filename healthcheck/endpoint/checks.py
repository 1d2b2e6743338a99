"""The checks of the endpoint stage, in the order in which they build on one another."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.endpoint import checks_load, checks_reach, checks_stream, checks_talk, checks_text
from healthcheck.endpoint.records import Interview

CHECKS: tuple[Check[Interview], ...] = (
    checks_reach.no_auth,
    checks_reach.models,
    checks_reach.model_name,
    checks_stream.stream,
    checks_reach.extra_fields,
    checks_stream.stream_framing,
    checks_stream.stream_finish,
    checks_stream.stream_incremental,
    checks_stream.stream_usage,
    checks_load.concurrency,
    checks_text.stream_equals_plain,
    checks_text.unicode,
    checks_text.max_tokens,
    checks_text.stop_or_eos,
    checks_text.sampling,
    checks_talk.multi_turn,
    checks_talk.system_role,
    checks_talk.long_prompt,
    checks_load.disconnect,
    checks_load.bad_request,
    checks_talk.image,
)
