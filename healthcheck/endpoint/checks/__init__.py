"""The checks of the endpoint stage in order, each in a module that is named after its id."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.endpoint.checks.bad_request import bad_request
from healthcheck.endpoint.checks.concurrency import concurrency
from healthcheck.endpoint.checks.degenerate import degenerate
from healthcheck.endpoint.checks.disconnect import disconnect
from healthcheck.endpoint.checks.extra_fields import extra_fields
from healthcheck.endpoint.checks.image import image
from healthcheck.endpoint.checks.isolation import isolation
from healthcheck.endpoint.checks.long_prompt import long_prompt
from healthcheck.endpoint.checks.max_tokens import max_tokens
from healthcheck.endpoint.checks.model_name import model_name
from healthcheck.endpoint.checks.models import models
from healthcheck.endpoint.checks.multi_turn import multi_turn
from healthcheck.endpoint.checks.no_auth import no_auth
from healthcheck.endpoint.checks.sampling import sampling
from healthcheck.endpoint.checks.stop_or_eos import stop_or_eos
from healthcheck.endpoint.checks.stream import stream
from healthcheck.endpoint.checks.stream_equals_plain import stream_equals_plain
from healthcheck.endpoint.checks.stream_finish import stream_finish
from healthcheck.endpoint.checks.stream_framing import stream_framing
from healthcheck.endpoint.checks.stream_incremental import stream_incremental
from healthcheck.endpoint.checks.stream_usage import stream_usage
from healthcheck.endpoint.checks.system_role import system_role
from healthcheck.endpoint.checks.unicode import unicode
from healthcheck.endpoint.records import Interview

CHECKS: tuple[Check[Interview], ...] = (
    no_auth,
    models,
    model_name,
    stream,
    extra_fields,
    stream_framing,
    stream_finish,
    stream_incremental,
    stream_usage,
    concurrency,
    isolation,
    stream_equals_plain,
    unicode,
    max_tokens,
    stop_or_eos,
    sampling,
    degenerate,
    multi_turn,
    system_role,
    long_prompt,
    disconnect,
    bad_request,
    image,
)
