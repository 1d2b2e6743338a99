"""The page on the options of the probe says what the record of the options says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from healthcheck.stages.probe.options.reading import from_file
from healthcheck.stages.probe.options.record import given, options
from tests.docs.blocks import ROOT
from tests.docs.site_pages import LANGUAGES, pages

PAGE = ROOT / "docs" / "probe-options.md"


@pytest.mark.parametrize("prefix", LANGUAGES, ids=("en", "zh"))
def test_every_option_is_in_the_table(prefix: str) -> None:
    rows = re.findall(r"^\| `(\w+)`", pages()[f"{prefix}probe-options.md"], re.MULTILINE)
    assert sorted(rows) == sorted(option.name for option in options())


def test_a_row_says_what_the_record_says() -> None:
    row = "| `temperature`, `--temperature` | a number from 0 to 2 | 0.7 | sampling temperature; "
    assert row in pages()["probe-options.md"]
    assert "| `system` † | 字符串 | 无 | " in pages()["zh/probe-options.md"]


def test_the_file_of_the_page_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "probe.toml"
    path.write_text(block, "utf-8")
    said = set(given(from_file(path)))
    assert said >= {
        "system",
        "few_shot",
        "api_key_env",
        "chat_template_kwargs",
        "extra_body",
        "datasets",
    }
