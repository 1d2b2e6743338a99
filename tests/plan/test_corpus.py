"""The corpus: every repository gets the findings that were written down for it, and no right one is rejected."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.conftest import judged, write
from tests.plan.corpus import Case
from tests.plan.corpus_asking import RIGHT_ASKING, WRONG_ASKING
from tests.plan.corpus_launchers import RIGHT_LAUNCHERS, WRONG_LAUNCHERS
from tests.plan.corpus_published import RIGHT_PUBLISHED, WRONG_PUBLISHED
from tests.plan.corpus_right import KEPT, WRITTEN
from tests.plan.corpus_right_around import AROUND, ENGINES
from tests.plan.corpus_right_python import PYTHON
from tests.plan.corpus_several import RIGHT_SEVERAL, WRONG_SEVERAL
from tests.plan.corpus_silent import SILENT
from tests.plan.corpus_steps import STEPS
from tests.plan.corpus_variables import RIGHT_VARIABLES, WRONG_VARIABLES
from tests.plan.corpus_waiting import RIGHT_WAITING, WRONG_WAITING
from tests.plan.corpus_wrong import WRONG

RIGHT = (
    *WRITTEN,
    *KEPT,
    *AROUND,
    *ENGINES,
    *PYTHON,
    *RIGHT_ASKING,
    *RIGHT_LAUNCHERS,
    *RIGHT_PUBLISHED,
    *RIGHT_SEVERAL,
    *RIGHT_VARIABLES,
    *RIGHT_WAITING,
)
ALL = (
    *RIGHT,
    *SILENT,
    *STEPS,
    *WRONG,
    *WRONG_ASKING,
    *WRONG_LAUNCHERS,
    *WRONG_PUBLISHED,
    *WRONG_SEVERAL,
    *WRONG_VARIABLES,
    *WRONG_WAITING,
)


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_repository_gets_what_is_written_for_it(case: Case, tmp_path: Path, weights: Path) -> None:
    plan, results = judged(write(case, tmp_path / "repo"), weights)
    found = {id_: r.outcome.value for id_, r in results.items() if r.outcome.value not in {"pass", "skip"}}
    story = "\n".join(f"{r.id}: {f.seen} [{f.where}]" for r in results.values() for f in r.findings)
    assert found == dict(case.expected), f"{story}\n{plan.server}\n{plan.run.stderr}"
    assert case.says in story
    assert any(case.fix in f.fix for r in results.values() for f in r.findings) or not case.fix


def test_the_corpus_is_wide_enough() -> None:
    assert len(RIGHT) >= 20
    assert len(ALL) >= 60
    names = [case.name for case in ALL]
    assert len(names) == len(set(names))
