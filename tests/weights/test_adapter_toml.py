"""Texts of several lines in adapter.toml are not edited."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.stages.weights import adapter_toml
from tests.weights.folders import plan


@pytest.mark.parametrize("quotes", ["'''", '"""'])
def test_a_line_of_a_text_is_not_a_key(quotes: str) -> None:
    text = f"notes = {quotes}\nmax_model_len = 8\n[x]\n{quotes}\nmax_model_len = 4096\n"
    launch = replace(plan(), settings=text)
    setting = adapter_toml.passed(launch, "max-model-len", "2048")
    assert (setting.where, setting.edits) == ("adapter.toml:5", ())
    assert "max_model_len = 2048" in setting.order
    removed = adapter_toml.without(launch, "max-model-len")
    assert (removed.where, removed.edits) == ("adapter.toml:5", ())


def test_a_text_that_ends_in_its_line_hides_no_key() -> None:
    launch = replace(plan(), settings="notes = '''one'''\nmax_model_len = 4096\n")
    assert adapter_toml.passed(launch, "max-model-len", "2048").where == "adapter.toml:2"
