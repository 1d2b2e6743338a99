"""plan/no-missing-imports under several releases; tests/plan/corpus_imports.py has the scripts of the default one."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.stages.plan.importable import FILE, read
from healthcheck.system.files import DATA
from tests.plan.corpus import case, sh
from tests.support.plans import judged, write

ID = "plan/no-missing-imports"
NEW = "from vllm.entrypoints.launchers.cli_args import make_arg_parser"
OLD = "from vllm.entrypoints.openai.cli_args import make_arg_parser"
FALLBACK = f"try:\n    {NEW}\nexcept ImportError:\n    {OLD}"


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(
    ("imports", "stack", "outcome"),
    [
        (NEW, "0.29.0rc1", "pass"),
        (NEW, "0.28.0rc1", "fail"),
        (OLD, "0.28.0rc1", "pass"),
        (OLD, "0.24.0rc1", "pass"),
        (OLD, "0.30.0rc2", "fail"),
        (FALLBACK, "0.30.0rc2", "pass"),
        (FALLBACK, "0.18.0", "pass"),
        ("from vllm import LLM", "0.30.0rc2", "pass"),
        ("from vllm import LLM", "0.13.0", "unsettled"),
        ("from vllm.utils import FlexibleArgumentParser", "0.9.1", "unsettled"),
    ],
)
def test_an_import_is_judged_by_the_release(
    imports: str, stack: str, outcome: str, tmp_path: Path, weights: Path
) -> None:
    serve = 'os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000"])'
    program = f"import os\n{imports}\n{serve}\n"
    repository = write(
        case("x", sh("exec python3 run.py"), files={"run.py": program}), tmp_path / "repo"
    )
    plan, results = judged(repository, weights, stack=stack)
    found = results[ID]
    assert (found.outcome.value if found.settled else "unsettled") == outcome, found.findings
    assert plan.server is not None, "the dry run of every release gets to the server"


def test_a_repair_names_an_import_of_the_release() -> None:
    """Public names that moved: where the release of the repair has them."""
    vllm = read((DATA / FILE).read_text("ascii"))["vllm"]
    for name, old, new in (
        ("FlexibleArgumentParser", "vllm.utils", "vllm.utils.argparse_utils"),
        ("get_open_port", "vllm.utils", "vllm.utils.network_utils"),
        ("OpenAIServingChat", "vllm.entrypoints.openai.serving_chat",
         "vllm.entrypoints.openai.chat_completion.serving"),
    ):  # fmt: skip
        assert not vllm.having(old, name)
        assert "0.23.0" in vllm.having(new, name)
        assert new in vllm.homes(name, "0.23.0")


def test_the_catalogue_has_what_tables_and_stars_bring() -> None:
    vllm = read((DATA / FILE).read_text("ascii"))["vllm"]
    for module, name in (
        ("vllm", "LLM"),
        ("vllm", "__version__"),
        ("vllm.distributed", "get_tensor_model_parallel_rank"),
        ("vllm.envs", "VLLM_LOGGING_LEVEL"),
        ("vllm.platforms", "current_platform"),
        ("vllm.engine", "arg_utils"),
        ("vllm.third_party.anything", ""),
        ("vllm.entrypoints.llm", "torch"),
    ):
        assert vllm.having(module, name) == set(vllm.releases), (module, name)
    for module, name in (
        ("vllm", "LLMs"),
        ("vllm.nothing", ""),
        ("vllm.envs", "VLLM_LOGGING_LEVELS"),
    ):
        assert not vllm.having(module, name), (module, name)
