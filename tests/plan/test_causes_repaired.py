"""The printed repair of each lost value is applied to the repository, which then passes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from healthcheck.core.records import Finding, Level, Outcome
from healthcheck.verify.fix import Repair, propose
from tests.plan.corpus import Case
from tests.plan.corpus_causes import WRONG_CAUSES
from tests.support.daily import every
from tests.support.plans import judged, write

pytestmark = pytest.mark.process
LEFT_TO_THE_AUTHOR = {"name-in-yaml"}
"""Repairs of two steps, or with a value of the author's."""


def first_failure(root: Path, weights: Path) -> Finding | None:
    results = judged(root, weights)[1].values()
    failed = (
        result
        for result in results
        if result.outcome is Outcome.FAIL and result.id != "plan/self-contained"
    )
    return next(
        (each for result in failed for each in result.findings if each.level is Level.FAIL), None
    )


def apply(root: Path, found: Finding) -> None:
    """Do by machine what the repair tells the author to do."""
    fix, (file, _, line) = str(found.fix), found.where.partition(":")
    path, number = root / file, int(line or 1)
    if found.command:
        subprocess.run(["bash", "-c", found.command], cwd=root, check=True, env=_AUTHOR)
        return
    lines = path.read_text().splitlines()
    at = number - 1
    if found.edits:
        files = {path.name: path.read_bytes()}
        (change,) = propose([Repair(check="x", words=fix, edits=found.edits)], files).changes
        lines = change.after.decode().splitlines()
    elif found_ := re.fullmatch(r"move line (\d+) above line (\d+): (.+)", fix):
        moved = lines.pop(int(found_[1]) - 1)
        assert moved == found_[3]
        lines.insert(int(found_[2]) - 1, moved)
    elif found_ := re.fullmatch(r"write (.+) above line (\d+); do not commit .+", fix):
        lines.insert(int(found_[2]) - 1, found_[1])
    elif found_ := re.fullmatch(r"write (.+) in place of (.+)", fix):
        assert found_[2] in lines[at]
        lines[at] = lines[at].replace(found_[2], found_[1])
    elif found_ := re.fullmatch(r"write ((\w+)=.+), or a number", fix):
        lines[at] = re.sub(rf"{found_[2]}=.*", lambda _: found_[1], lines[at])
    elif found_ := re.fullmatch(r"give it a default: (\$\{(\w+):-.+\})", fix):
        lines[at] = re.sub(rf"\${found_[2]}\b", lambda _: found_[1], lines[at])
    elif found_ := re.fullmatch(r"remove that line, and write: (.+)", fix):
        del lines[at]
        script = root / "deploy.sh"
        script.write_text(f"#!/bin/bash\n{found_[1]}\n")
    elif fix == "remove the backslash before $MODEL_PATH":
        lines[at] = lines[at].replace("\\$MODEL_PATH", "$MODEL_PATH")
    else:
        pytest.fail(f"no one can paste this: {fix}")
    path.write_text("\n".join(lines) + "\n")
    subprocess.run(
        ["git", "commit", "-qam", "Repair"], cwd=root, check=False, env=_AUTHOR, capture_output=True
    )


_AUTHOR = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    **{
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


@pytest.mark.parametrize(
    "case",
    every(4, [case for case in WRONG_CAUSES if case.name not in LEFT_TO_THE_AUTHOR]),
    ids=lambda case: case.name,
)
def test_the_repair_works(case: Case, tmp_path: Path, weights: Path) -> None:
    root = write(case, tmp_path / "repo")
    found = first_failure(root, weights)
    assert found is not None
    apply(root, found)
    again = first_failure(root, weights)
    assert again is None, f"{found.fix}\n{again}"
