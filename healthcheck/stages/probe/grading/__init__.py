"""Grading: from a model's text to a score, with exact arithmetic; which tier fired is kept."""

from __future__ import annotations

from healthcheck.stages.probe.grading.grade import Grade, grade

__all__ = ["Grade", "grade"]
