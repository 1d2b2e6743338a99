"""What a check of an NPU machine imports besides `healthcheck.api`: its stage, and the facts of the machine."""

from __future__ import annotations

from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER

__all__ = ["RUNNER", "RunnerFacts"]
