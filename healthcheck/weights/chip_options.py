"""Rules for options of the engine on some chips, in some releases, for some models: data with its source."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass
from pathlib import Path

from healthcheck import json_text, stacks
from healthcheck.hardware import Family
from healthcheck.records import Level
from healthcheck.weights.demand import read_layout
from healthcheck.weights.documents import text_of
from healthcheck.weights.experts import has_experts
from healthcheck.weights.facts import WeightsFacts

TABLE = Path(__file__).parent.parent / "data" / "chip-options.json"


class Model(enum.Enum):
    """The launches that a rule is about."""

    EXPERTS = "experts-over-devices"
    STATE = "state-in-32-bits"
    STATE_AND_EXPERTS = "state-in-32-bits-and-experts"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionRule:
    """One rule.

    Attributes:
        chips: families by the name that vllm-ascend gives them.
        releases: a specifier of vllm-ascend releases.
        option: its long name; `value` is the one that it has to have, None if it must be absent.
        level: FAIL or WARN.
        because: what happens otherwise.
    """

    chips: tuple[Family, ...]
    releases: str
    model: Model
    option: str
    value: str | None
    level: Level
    because: str
    source: str

    def holds(self, facts: WeightsFacts) -> bool:
        """Whether the launch keeps to the rule, or is none of those that it is about."""
        given = facts.option(self.option)
        kept = given is None if self.value is None else given == self.value
        return kept or not _is_meant(self.model, facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    source: str
    rules: tuple[OptionRule, ...]


def rules_of(family: Family, release: str) -> tuple[OptionRule, ...]:
    """The rules for a chip in a release."""
    return tuple(rule for rule in _rules() if family in rule.chips and stacks.in_range(release, rule.releases))


@functools.cache
def _rules() -> tuple[OptionRule, ...]:
    return json_text.load_as(TABLE.read_bytes(), _Table).rules


def _is_meant(model: Model, facts: WeightsFacts) -> bool:
    config = facts.weights.text_config
    if model is Model.EXPERTS:
        layout = read_layout(facts)
        return has_experts(config) and layout.tensor * layout.data > 1
    in_32_bits = text_of(config.get("mamba_ssm_dtype")) not in {"", "float16"}
    return in_32_bits and has_experts(config) == (model is Model.STATE_AND_EXPERTS)
