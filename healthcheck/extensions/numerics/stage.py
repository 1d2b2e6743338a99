"""The stage of this extension's checks."""

from __future__ import annotations

from healthcheck.api import Stage
from healthcheck.text.messages import msg

NUMERICS = Stage(name="numerics", title=msg("comparing log-probabilities"), place=60)
