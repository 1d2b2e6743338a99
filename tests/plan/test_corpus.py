"""The corpus: every repository gets the findings that were written down for it, and no others.

Each day every 32nd case of a table is tried, and the first with each outcome of each check; `make test-slow` tries the
others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.report.words import repair
from healthcheck.sandbox import box
from healthcheck.sandbox.job import Limits, Mode
from healthcheck.stages.plan import facts
from healthcheck.stages.plan.checks import CHECKS
from healthcheck.stages.plan.checks.self_contained import PARTS
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import Case, in_its_folder
from tests.plan.corpus_asking import RIGHT_ASKING, WRONG_ASKING
from tests.plan.corpus_causes import RIGHT_CAUSES, WRONG_CAUSES
from tests.plan.corpus_environment import RIGHT_ENVIRONMENT, WRONG_ENVIRONMENT
from tests.plan.corpus_folders import RIGHT_FOLDERS, WRONG_FOLDERS
from tests.plan.corpus_fronts import RIGHT_FRONTS, WRONG_FRONTS
from tests.plan.corpus_imports import RIGHT_IMPORTS, WRONG_IMPORTS
from tests.plan.corpus_kinds import RIGHT_KINDS, WRONG_KINDS
from tests.plan.corpus_kinds2 import RIGHT_KINDS2, WRONG_KINDS2
from tests.plan.corpus_launchers import RIGHT_LAUNCHERS, WRONG_LAUNCHERS
from tests.plan.corpus_programs import RIGHT_PROGRAMS, WRONG_PROGRAMS
from tests.plan.corpus_published import RIGHT_PUBLISHED, WRONG_PUBLISHED
from tests.plan.corpus_right import KEPT, WRITTEN
from tests.plan.corpus_right_around import AROUND, ENGINES
from tests.plan.corpus_right_python import PYTHON
from tests.plan.corpus_several import RIGHT_PROCESSOR, RIGHT_SEVERAL, WRONG_PROCESSOR, WRONG_SEVERAL
from tests.plan.corpus_silent import SILENT
from tests.plan.corpus_steps import STEPS
from tests.plan.corpus_supervisord import RIGHT_SUPERVISED, WRONG_SUPERVISED
from tests.plan.corpus_variables import RIGHT_VARIABLES, WRONG_VARIABLES
from tests.plan.corpus_waiting import RIGHT_WAITING, WRONG_WAITING
from tests.plan.corpus_wrong import WRONG
from tests.support.daily import these
from tests.support.plans import Verdict, write

_RIGHT = (
    WRITTEN,
    KEPT,
    AROUND,
    ENGINES,
    PYTHON,
    RIGHT_ASKING,
    RIGHT_CAUSES,
    RIGHT_FRONTS,
    RIGHT_ENVIRONMENT,
    RIGHT_IMPORTS,
    RIGHT_KINDS,
    RIGHT_KINDS2,
    RIGHT_LAUNCHERS,
    RIGHT_PROCESSOR,
    RIGHT_PROGRAMS,
    RIGHT_PUBLISHED,
    RIGHT_SEVERAL,
    RIGHT_SUPERVISED,
    RIGHT_VARIABLES,
    RIGHT_WAITING,
)
RIGHT = (*(tuple(map(in_its_folder, table)) for table in _RIGHT), RIGHT_FOLDERS)
OTHERS = (
    SILENT,
    STEPS,
    WRONG,
    WRONG_ASKING,
    WRONG_CAUSES,
    WRONG_FOLDERS,
    WRONG_FRONTS,
    WRONG_ENVIRONMENT,
    WRONG_IMPORTS,
    WRONG_KINDS,
    WRONG_KINDS2,
    WRONG_LAUNCHERS,
    WRONG_PROCESSOR,
    WRONG_PROGRAMS,
    WRONG_PUBLISHED,
    WRONG_SEVERAL,
    WRONG_SUPERVISED,
    WRONG_VARIABLES,
    WRONG_WAITING,
)
_WRONG = tuple(case for table in OTHERS for case in table)
ALL = [case for table in (*RIGHT, *OTHERS) for case in table]


def _daily() -> list[Case]:
    """Every 32nd case of each table, and the first with each outcome of each check."""
    some = {case.name for table in (*RIGHT, *OTHERS) for case in table[::32]}
    firsts = {outcome: case.name for case in reversed(ALL) for outcome in case.expected.items()}
    return [case for case in ALL if case.name in some or case.name in firsts.values()]


def _summed_up(case: Case) -> set[str]:
    """The checks that a case speaks of by their summary; test_page_examples has one of each.

    A wrong script that names its files by relative paths is about its own mistake.
    """
    summed_up = set(PARTS) if "plan/self-contained" in case.expected else set()
    return summed_up | ({"plan/working-directory"} if case in _WRONG else set())


DAILY = _daily()
LATER = [case for case in ALL if case not in DAILY]


@pytest.mark.process
@pytest.mark.parametrize(
    "case",
    these(DAILY, (case for case in ALL if case.expected or case.says)),
    ids=lambda case: case.name,
)
def test_a_script_gets_the_findings_that_it_is_about(
    case: Case, verdict: Callable[[Case], Verdict]
) -> None:
    found = verdict(case)
    story = f"{found.findings()}\n{found.script}"
    assert {id_: found.fired.get(id_) for id_ in case.expected} == dict(case.expected), story
    assert case.says in found.findings()
    assert (
        any(case.fix in repair(f) for r in found.results.values() for f in r.findings)
        or not case.fix
    )


QUARTERS = [pytest.param(LATER[at::4], id=f"later-{at}", marks=pytest.mark.slow) for at in range(4)]


@pytest.mark.process
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("cases", [pytest.param(DAILY, id="daily"), *QUARTERS])
def test_no_other_check_fires(cases: list[Case], verdict: Callable[[Case], Verdict]) -> None:
    """One test for many scripts: a check that is wrong about ordinary ones is one failure, which names them."""
    wrong, passed = defaultdict(list), set()
    for case in reversed(cases):  # another process may be on its way through the cases
        found = verdict(case)
        passed |= {id_ for id_, result in found.results.items() if result.outcome is Outcome.PASS}
        for id_ in found.fired.keys() - case.expected.keys() - _summed_up(case):
            wrong[id_].append(f"  {found.fired[id_]} on {case.name}: {found.findings(id_)}")
    if wrong:
        lines = (line for id_, scripts in sorted(wrong.items()) for line in (id_, *sorted(scripts)))
        pytest.fail("\n".join(lines), pytrace=False)
    assert passed >= {check.id for check in CHECKS}


def test_each_check_fires_in_a_case_of_every_day() -> None:
    expected = {
        id_ for case in DAILY for id_, outcome in case.expected.items() if outcome != "unsettled"
    }
    assert expected | set(PARTS) >= {check.id for check in CHECKS}, (
        "those of PARTS have examples on their pages"
    )


def test_the_corpus_is_wide_enough() -> None:
    assert sum(map(len, RIGHT)) >= 200
    assert len(ALL) >= 600
    names = [case.name for case in ALL]
    assert len(names) == len(set(names))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("case", ALL[3::8], ids=lambda case: case.name)
def test_without_namespaces_nothing_more_fails(case: Case, tmp_path: Path, weights: Path) -> None:
    sandbox = partial(box.run, mode=Mode.CONFINED)
    plan = facts.gather(
        read_submission(write(case, tmp_path / "r")), weights, limits=Limits(), sandbox=sandbox
    )
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    failed = {result.id for result in ledger.results if result.outcome is Outcome.FAIL}
    expected = {name for name, outcome in case.expected.items() if outcome == "fail"}
    assert failed <= expected | _summed_up(case)
