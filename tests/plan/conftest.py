"""The verdict on a case of the corpus, which two tests ask for."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plan.corpus import Case
from tests.support.plans import Verdict, judged, weights, write

__all__ = ("verdict", "weights")


@pytest.fixture(scope="session")
def verdict(tmp_path_factory: pytest.TempPathFactory, weights: Path) -> Callable[[Case], Verdict]:
    """The verdict on a case, found once: two tests ask for each, maybe in two processes of pytest-xdist."""
    own = tmp_path_factory.getbasetemp()
    room = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "corpus"

    def of(case: Case) -> Verdict:
        folder = room / case.name
        folder.mkdir(parents=True, exist_ok=True)
        kept = folder / "verdict"
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                plan, results = judged(write(case, folder / "repo"), weights)
                kept.write_bytes(
                    pickle.dumps(Verdict(results, f"{plan.server}\n{plan.run.stderr}"))
                )
        found: Verdict = pickle.loads(kept.read_bytes())
        return found

    return of
