"""The stage of this extension's checks, and what a report on a machine is about."""

from __future__ import annotations

from healthcheck.api import Stage, Subject
from healthcheck.text.messages import msg

MACHINE = Subject(
    whole="runner",
    ready=msg("ready: this machine can run adapters"),
    use=msg("use this machine"),
)
RUNNER = Stage(
    name="runner", title=msg("can this machine run adapters?"), place=80, subject=MACHINE
)
