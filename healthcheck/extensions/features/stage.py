"""The stage of this extension's checks."""

from __future__ import annotations

from healthcheck.api import Stage
from healthcheck.text.messages import msg

FEATURES = Stage(
    name="features", title=msg("asking for tools, formats and parameters"), place=65, counts=False
)
