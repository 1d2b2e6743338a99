"""The contract's values are those of the service's own sentences, which a report quotes with where they are from."""

from __future__ import annotations

import re

import pytest

from healthcheck import contract
from healthcheck.contract import Rule, Status


def test_the_values_are_those_of_the_sentences() -> None:
    assert contract.LISTENS_ON_PORT.sentence.endswith("must listen on port 8000.")
    assert f"--port {contract.PORT}" in contract.LAUNCH
    (gigabytes,) = re.findall(r"(\d+) GB", contract.WEIGHT_LIMIT.sentence)
    assert int(gigabytes) * 10**9 == contract.MAX_WEIGHT_BYTES
    assert contract.REPEATS.sentence.endswith(f" to {contract.SAMPLES_PER_PROBLEM}.")
    assert all(task.value in contract.TASK_TYPES.sentence for task in contract.Task)


RULES = [value for value in vars(contract).values() if isinstance(value, Rule)]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.status is not Status.UNKNOWN])
def test_a_quoted_rule_says_how_sure_it_is_and_where_it_was_read(rule: Rule) -> None:
    said = rule.quote()
    assert said.startswith(f"“{rule.sentence}” — {rule.source}, {rule.status.value}, read 20")
    assert (rule.status is Status.DOCUMENTED) == (rule.source == contract.PAGE)
    assert not rule.is_own


def test_only_what_is_known_of_the_client_is_an_inference() -> None:
    rules = {
        name: value.status for name, value in vars(contract).items() if isinstance(value, Rule)
    }
    assert [name for name, status in rules.items() if status is Status.INFERRED] == [
        "CLIENT_IS_AISBENCH"
    ]


def test_what_no_document_has_is_unknown_and_never_judged_by() -> None:
    facts = {name: contract.fact(name) for name in contract.UNDOCUMENTED}
    assert {fact.value for fact in facts.values()} == {None}
    assert {name for name, fact in facts.items() if fact.status is Status.OBSERVED} == set(
        contract.OBSERVED
    )
    assert all(fact.source and fact.read_on for fact in contract.OBSERVED.values())
    unknown = [rule for rule in RULES if rule.status is Status.UNKNOWN]
    assert {rule.about[0] for rule in unknown} <= set(contract.UNDOCUMENTED)
    assert not any(rule.is_own for rule in unknown)


def test_every_figure_has_its_source_and_date() -> None:
    for name in contract.FIGURES:
        fact = contract.fact(name)
        assert (fact.status, fact.source) == (Status.DOCUMENTED, contract.PAGE)
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", fact.read_on)
