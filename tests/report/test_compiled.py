"""Compiled templates are kept next to compiled modules, and a file that does not belong to the template is not used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from healthcheck.report.compiled import CompiledTemplates

TEXT = "{{ name }} is compiled"
DAMAGE = {
    "empty": lambda stored: b"",
    "cut": lambda stored: stored[: len(stored) // 2],
    "not code": lambda stored: stored.partition(b"\n")[0] + b"\nN",
    "other text": lambda stored: b"0" + stored,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


class Compiler(Environment):
    """Counts how often a template is compiled."""

    compiled = 0

    def _generate(self, *arguments: object, **options: object) -> str:
        self.compiled += 1
        return super()._generate(*arguments, **options)


def rendered(text: str = TEXT) -> tuple[str, int]:
    """The rendering in a new environment, and how often it compiled."""
    made = Compiler(loader=DictLoader({"a": text}), bytecode_cache=CompiledTemplates())
    return made.get_template("a").render(name="it"), made.compiled


def test_a_template_is_compiled_once(folder: Path) -> None:
    assert rendered() == ("it is compiled", 1)
    assert rendered() == ("it is compiled", 0)
    assert len(files(folder)) == 1


def test_another_text_is_compiled_anew() -> None:
    rendered()
    assert rendered("{{ name }} is new") == ("it is new", 1)
    assert rendered("{{ name }} is new") == ("it is new", 0)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_replaced(folder: Path, damage: str) -> None:
    rendered()
    (file,) = files(folder)
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    assert rendered() == ("it is compiled", 1)
    assert rendered() == ("it is compiled", 0)


def test_no_file_is_written_without_bytecode(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered() == rendered() == ("it is compiled", 1)
    assert files(folder) == []


def test_a_folder_that_cannot_be_written_to_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(folder / "file"))
    (folder / "file").write_text("")
    assert rendered() == rendered() == ("it is compiled", 1)
