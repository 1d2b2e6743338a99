"""The page of a check shows a script that it objects to, and the repaired one: both are run."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from healthcheck.verify import catalogue
from tests.plan.corpus import case
from tests.support.daily import every
from tests.support.plans import judged, write
from tests.support.repositories import git

SCRIPT = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMITTED = {
    "env.sh": "export OMP_NUM_THREADS=8\n",
    "chat.jinja": "{{ messages }}\n",
    "my_processors.py": "class Repeat: pass\n",
}
"""What the repaired examples say is committed."""
COMMITTED_BEFORE = {
    "plan/working-directory": COMMITTED,
    "plan/no-shadowed-modules": {"openai.py": "def ask(): pass\n"},
}
"""What is committed with the wrong example, too."""
AUTHOR = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Author"), ("EMAIL", "author@example.org"))
}
PAGES = [
    page for page in catalogue.pages() if page.stage.name == "plan" and SCRIPT.search(page.body)
]


@pytest.mark.process
@pytest.mark.parametrize("page", every(4, PAGES), ids=lambda page: page.id.removeprefix("plan/"))
def test_a_check_objects_to_its_example_and_not_to_the_repaired_one(
    page: catalogue.Page, tmp_path: Path, weights: Path
) -> None:
    wrong, right = SCRIPT.findall(page.body)
    wrong_case = case("wrong", f"#!/bin/bash\n{wrong}", files=COMMITTED_BEFORE.get(page.id))
    _, before = judged(write(wrong_case, tmp_path / "wrong"), weights)
    assert before[page.id].findings, before["plan/starts-server"]
    commands = [found.command for found in before[page.id].findings if found.command]
    if commands:
        folder = tmp_path / "wrong"
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Wrong"]):
            git(folder, *words)
        environment = {**os.environ, **AUTHOR}
        script = "\n".join(commands)
        subprocess.run(["sh", "-ec", script], cwd=folder, env=environment, check=True)
        git(folder, "commit", "-q", "--allow-empty", "-m", "Repaired")
        _, repaired = judged(tmp_path / "wrong", weights)
        assert repaired[page.id].outcome.value == "pass", repaired[page.id].findings
    _, after = judged(
        write(case("right", f"#!/bin/bash\n{right}", files=COMMITTED), tmp_path / "right"), weights
    )
    assert after[page.id].outcome.value == "pass", after[page.id].findings
    assert not after["plan/starts-server"].findings


def test_every_part_of_a_summary_has_an_example() -> None:
    summary = catalogue.page("plan/self-contained")
    parts = set(re.findall(r"plan/[a-z-]+", summary.body))
    assert len(parts) > 5
    assert parts <= {page.id for page in PAGES}
