"""Grading: from a model's text to a score, with exact arithmetic; records the tier that matched."""

from __future__ import annotations

from healthcheck.stages.probe.grading.grade import Grade, grade

__all__ = ["Grade", "grade"]
