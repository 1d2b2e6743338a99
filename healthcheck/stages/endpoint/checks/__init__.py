"""The checks of the endpoint stage in order, each in a module named after its id."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.stages.endpoint.checks.bad_request import bad_request
from healthcheck.stages.endpoint.checks.concurrency import concurrency
from healthcheck.stages.endpoint.checks.degenerate import degenerate
from healthcheck.stages.endpoint.checks.disconnect import disconnect
from healthcheck.stages.endpoint.checks.extra_fields import extra_fields
from healthcheck.stages.endpoint.checks.image import image
from healthcheck.stages.endpoint.checks.isolation import isolation
from healthcheck.stages.endpoint.checks.long_prompt import long_prompt
from healthcheck.stages.endpoint.checks.max_tokens import max_tokens
from healthcheck.stages.endpoint.checks.model_name import model_name
from healthcheck.stages.endpoint.checks.models import models
from healthcheck.stages.endpoint.checks.multi_turn import multi_turn
from healthcheck.stages.endpoint.checks.no_auth import no_auth
from healthcheck.stages.endpoint.checks.sampling import sampling
from healthcheck.stages.endpoint.checks.stop_or_eos import stop_or_eos
from healthcheck.stages.endpoint.checks.stream import stream
from healthcheck.stages.endpoint.checks.stream_equals_plain import stream_equals_plain
from healthcheck.stages.endpoint.checks.stream_finish import stream_finish
from healthcheck.stages.endpoint.checks.stream_framing import stream_framing
from healthcheck.stages.endpoint.checks.stream_incremental import stream_incremental
from healthcheck.stages.endpoint.checks.stream_usage import stream_usage
from healthcheck.stages.endpoint.checks.system_role import system_role
from healthcheck.stages.endpoint.checks.unicode import unicode
from healthcheck.stages.endpoint.records import Interview

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
