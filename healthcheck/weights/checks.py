"""The checks of the weights stage, in the order in which they are reported."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.weights import (
    check_code,
    check_complete,
    check_config,
    check_format,
    check_hardware,
    check_model,
    check_size,
    check_task,
    check_tokenizer,
)
from healthcheck.weights.facts import WeightsFacts

CHECKS: tuple[Check[WeightsFacts], ...] = (
    check_size.present,
    check_size.size_limit,
    check_complete.complete,
    check_format.safetensors,
    check_config.config,
    check_model.matches_config,
    check_model.processor,
    check_tokenizer.tokenizer,
    check_format.pickle,
    check_code.remote_code,
    check_hardware.fits_hardware,
    check_task.supported,
    check_task.matches_weights,
)
