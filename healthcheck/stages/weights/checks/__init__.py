"""The checks of the weights stage in order, each in a module named after its id."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.stages.weights.checks.complete import complete
from healthcheck.stages.weights.checks.config import config
from healthcheck.stages.weights.checks.matches_config import matches_config
from healthcheck.stages.weights.checks.pickle import pickle
from healthcheck.stages.weights.checks.plan_additional_config import plan_additional_config
from healthcheck.stages.weights.checks.plan_fits_hardware import plan_fits_hardware
from healthcheck.stages.weights.checks.plan_layer_partition import plan_layer_partition
from healthcheck.stages.weights.checks.plan_options_suit_chip import plan_options_suit_chip
from healthcheck.stages.weights.checks.plan_options_suit_weights import plan_options_suit_weights
from healthcheck.stages.weights.checks.plan_parsers_fit import plan_parsers_fit
from healthcheck.stages.weights.checks.plan_supported_model import plan_supported_model
from healthcheck.stages.weights.checks.present import present
from healthcheck.stages.weights.checks.processor import processor
from healthcheck.stages.weights.checks.quantization_scheme import quantization_scheme
from healthcheck.stages.weights.checks.remote_code import remote_code
from healthcheck.stages.weights.checks.safetensors import safetensors
from healthcheck.stages.weights.checks.sampling_defaults import sampling_defaults
from healthcheck.stages.weights.checks.size_limit import size_limit
from healthcheck.stages.weights.checks.task_matches_weights import task_matches_weights
from healthcheck.stages.weights.checks.task_supported import task_supported
from healthcheck.stages.weights.checks.tokenizer import tokenizer
from healthcheck.stages.weights.records import WeightsFacts

AHEAD: tuple[Check[WeightsFacts], ...] = (
    size_limit,
    config,
    tokenizer,
    quantization_scheme,
    plan_fits_hardware,
    plan_layer_partition,
    plan_options_suit_chip,
    plan_additional_config,
    plan_supported_model,
    task_supported,
    task_matches_weights,
)
"""The checks that need the configuration of the weights but not the weights."""
CHECKS: tuple[Check[WeightsFacts], ...] = (
    present,
    size_limit,
    complete,
    safetensors,
    config,
    matches_config,
    processor,
    tokenizer,
    sampling_defaults,
    pickle,
    remote_code,
    quantization_scheme,
    plan_fits_hardware,
    plan_layer_partition,
    plan_options_suit_chip,
    plan_options_suit_weights,
    plan_parsers_fit,
    plan_additional_config,
    plan_supported_model,
    task_supported,
    task_matches_weights,
)
