"""The checks of the service stage, each in a module named after its id.

The tuples are judged at different times: before the launch, once the server has started, and once it has stopped.
"""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.stages.service.checks.port_free import port_free
from healthcheck.stages.service.checks.starts import starts
from healthcheck.stages.service.checks.stays_up import stays_up
from healthcheck.stages.service.checks.stops import stops
from healthcheck.stages.service.records import Ended, Launch, PortFacts

PORT_CHECKS: tuple[Check[PortFacts], ...] = (port_free,)
START_CHECKS: tuple[Check[Launch], ...] = (starts,)
END_CHECKS: tuple[Check[Ended], ...] = (stays_up, stops)
