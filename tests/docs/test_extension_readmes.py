"""Each of the kit's own extensions has a page: its commands, its modules, and a way to try it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from healthcheck.core import extensions
from tests.docs.blocks import ROOT, commands

FOLDERS = sorted(path.parent for path in (ROOT / "healthcheck/extensions").glob("*/__init__.py"))
HEADINGS = ["Commands", "Rooms", "Try it"]
ONE_PAGE = 60
DATA = {".json", ".jsonl", ".j2", ".css"}


def modules(folder: Path) -> set[str]:
    """The modules, folders and files of data of an extension, as its page writes them."""
    files = {path for path in folder.iterdir() if not path.name.startswith("_")}
    return {
        *(path.stem for path in files if path.suffix == ".py"),
        *(path.name for path in files if path.suffix in DATA),
        *(f"{path.name}/" for path in files if path.is_dir()),
    }


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_an_extension_has_a_page_of_its_modules_and_commands(folder: Path) -> None:
    text = (folder / "README.md").read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert text.startswith(f"# {folder.name}: ")
    assert len(text.splitlines()) <= ONE_PAGE
    rooms = text.partition("## Rooms")[2].partition("## Try it")[0]
    assert modules(folder) - {*re.findall(r"`([^`]+)`", rooms)} == set()
    listed = {*re.findall(r"`npu-adapter ([\w-]+)", text)}
    named = {
        each.name
        for each in extensions.own(extensions.COMMANDS)
        if each.module.startswith(f"healthcheck.extensions.{folder.name}.")
    }
    assert named <= listed
    assert commands(folder / "README.md")
