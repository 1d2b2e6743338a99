"""The page of mistakes is what the kit says of them now, and the commands that it prints repair them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from tests.docs.blocks import ROOT

pytestmark = [pytest.mark.process, pytest.mark.slow]
SECTION = re.compile(
    r"^## \d+\. .*\n\n```bash\n(.*)\n```\n\n```console\n((?:.*\n)*?)```", re.MULTILINE
)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("make_mistakes")


def test_the_page_is_what_the_kit_says(script: ModuleType) -> None:
    written = script.sections()
    assert len(SECTION.findall(written["en"])) == len(script.MISTAKES)
    for language, text in written.items():
        assert (ROOT / script.PAGES[language]).read_text("utf-8").endswith(f"{script.BEGINS}{text}")


REPAIR = re.compile(r"\. Fix: .*?: \(cd my-adapter && (.*)\)$")
"""A repair with a command, which runs in the repository."""


def repairs() -> list[tuple[str, str]]:
    """The mistakes of the page whose repair has a command, each with that command.

    `git rm --cached` leaves the file in the folder, and the script commits every file of the folder again.
    """
    found = SECTION.findall((ROOT / "docs/mistakes.md").read_text("utf-8"))
    return [
        (mistake, repair[1])
        for mistake, said in found
        for line in said.splitlines()
        if (repair := REPAIR.search(line)) and "git rm --cached" not in repair[1]
    ]


def test_the_commands_that_are_printed_repair_the_mistakes(
    script: ModuleType, tmp_path: Path
) -> None:
    adapter = script.Adapter(tmp_path)
    assert len(repairs()) >= 3
    for mistake, repair in repairs():
        adapter.begin()
        adapter.run(mistake)
        adapter.run(repair)
        assert repair not in adapter.said("en"), mistake
