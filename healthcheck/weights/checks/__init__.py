"""The checks of the weights stage in order, each in a module that is named after its id."""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.weights.checks.complete import complete
from healthcheck.weights.checks.config import config
from healthcheck.weights.checks.matches_config import matches_config
from healthcheck.weights.checks.pickle import pickle
from healthcheck.weights.checks.plan_fits_hardware import plan_fits_hardware
from healthcheck.weights.checks.plan_options_suit_chip import plan_options_suit_chip
from healthcheck.weights.checks.plan_options_suit_weights import plan_options_suit_weights
from healthcheck.weights.checks.present import present
from healthcheck.weights.checks.processor import processor
from healthcheck.weights.checks.quantization_scheme import quantization_scheme
from healthcheck.weights.checks.remote_code import remote_code
from healthcheck.weights.checks.safetensors import safetensors
from healthcheck.weights.checks.size_limit import size_limit
from healthcheck.weights.checks.task_matches_weights import task_matches_weights
from healthcheck.weights.checks.task_supported import task_supported
from healthcheck.weights.checks.tokenizer import tokenizer
from healthcheck.weights.facts import WeightsFacts

AHEAD: tuple[Check[WeightsFacts], ...] = (
    size_limit,
    config,
    quantization_scheme,
    plan_fits_hardware,
    plan_options_suit_chip,
    task_supported,
    task_matches_weights,
)
"""Those that need the configuration of the weights and not the weights."""
CHECKS: tuple[Check[WeightsFacts], ...] = (
    present,
    size_limit,
    complete,
    safetensors,
    config,
    matches_config,
    processor,
    tokenizer,
    pickle,
    remote_code,
    quantization_scheme,
    plan_fits_hardware,
    plan_options_suit_chip,
    plan_options_suit_weights,
    task_supported,
    task_matches_weights,
)
