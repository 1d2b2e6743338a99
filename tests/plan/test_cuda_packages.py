"""Packages that need CUDA: the repository's checks and the dry run agree about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.stages.repo import packages
from healthcheck.stages.repo.checks import CHECKS
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import case, sh
from tests.support.plans import judged, write

pytestmark = pytest.mark.process

MODULES = sorted(module for modules in packages.cuda_only().values() for module in modules)
IMPORT_ALL = f"""
import importlib
for name in {MODULES}:
    try:
        importlib.import_module(name)
        print(name)
    except ModuleNotFoundError:
        pass
"""


def requirements(*names: str) -> dict[str, str]:
    return {"requirements.txt": "".join(f"{name}==1.0\n" for name in names)}


@pytest.mark.parametrize("named", [(), tuple(packages.cuda_only())], ids=["unnamed", "named"])
def test_no_module_that_needs_cuda_is_there(
    named: tuple[str, ...], tmp_path: Path, weights: Path
) -> None:
    script = sh('python3 all.py\nexec vllm serve "$MODEL_PATH"')
    files = {"all.py": IMPORT_ALL, **requirements(*named)}
    plan, _ = judged(write(case("x", script, files=files), tmp_path / "repo"), weights)
    assert plan.server is not None
    assert not set(plan.run.stdout.split()) & set(MODULES)


@pytest.mark.parametrize("named", [(), ("flashinfer-python",)], ids=["unnamed", "named"])
def test_flashinfer_is_to_be_left_out_whether_or_not_its_package_is_named(
    named: tuple[str, ...], tmp_path: Path, weights: Path
) -> None:
    script = sh('python3 -c "import flashinfer" || exit 1\nexec vllm serve "$MODEL_PATH"')
    _, results = judged(
        write(case("x", script, files=requirements(*named)), tmp_path / "repo"), weights
    )
    failed = [result for result in results.values() if result.outcome is Outcome.FAIL]
    found = [each for result in failed for each in result.findings if "flashinfer" in each.seen]
    assert any("remove it" in each.fix for each in found)
    assert not any("requirements.txt" in each.fix for each in found)


def test_a_package_that_needs_cuda_is_to_be_taken_out(tmp_path: Path) -> None:
    names = sorted(packages.cuda_only())
    root = write(case("x", sh("true"), files=requirements(*names)), tmp_path / "repo")
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: read_submission(root))
    (result,) = [result for result in ledger.results if result.id == "repo/requirements-stack"]
    removed = {
        edit.old.strip() for finding in result.findings for edit in finding.edits if not edit.new
    }
    assert {line.partition("==")[0] for line in removed} == set(names)
    assert all("needs CUDA" in finding.seen for finding in result.findings if finding.edits)
