"""A LoRA adapter is a model of its own in vLLM: the repair serves it under the weight path."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.verify.fix import Repair, propose
from tests.plan.corpus import Case, bash, case
from tests.support.plans import judged, write

pytestmark = pytest.mark.process
NAME = "plan/served-name"
START = (
    'HERE=$(cd "$(dirname "$0")" && pwd)\nexec vllm serve "$MODEL_PATH" --port 8000 --enable-lora'
)


def _script(arguments: str) -> Case:
    return case(
        "adapter", bash(f"{START} {arguments}"), files={"adapter/adapter_config.json": "{}"}
    )


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ('--lora-modules gsm="$HERE/adapter"',
         '--served-model-name base-model --lora-modules "$MODEL_PATH"="$HERE/adapter"'),
        ('--lora-modules "gsm=$HERE/adapter" --max-loras 1',
         '--served-model-name base-model --lora-modules "$MODEL_PATH""=$HERE/adapter" --max-loras 1'),
        ('--lora-modules=gsm="$HERE/adapter"',
         '--served-model-name base-model --lora-modules="$MODEL_PATH"="$HERE/adapter"'),
        ('--lora_modules \\\n  gsm="$HERE/adapter"',
         '--served-model-name base-model --lora_modules \\\n  "$MODEL_PATH"="$HERE/adapter"'),
        ('--served-model-name "$MODEL_PATH" --lora-modules gsm="$HERE/adapter"',
         '--served-model-name base-model --lora-modules "$MODEL_PATH"="$HERE/adapter"'),
        ('--served-model-name mine --lora-modules gsm="$HERE/adapter"',
         '--served-model-name mine --lora-modules "$MODEL_PATH"="$HERE/adapter"'),
        ('--lora-modules "$MODEL_PATH"="$HERE/adapter"',
         '--served-model-name base-model --lora-modules "$MODEL_PATH"="$HERE/adapter"'),
    ],
)  # fmt: skip
def test_the_repair_serves_the_adapter_under_the_weight_path(
    given: str, after: str, tmp_path: Path, weights: Path
) -> None:
    wrong, right = _script(given), _script(after)
    _, results = judged(write(wrong, tmp_path / "wrong"), weights)
    (found,) = results[NAME].findings
    repair = Repair(check=NAME, words=found.fix, edits=found.edits)
    before = {path: text.encode() for path, text in wrong.files.items()}
    (change,) = propose([repair], before).changes
    assert change.after.decode() == right.files["deploy.sh"]
    plan, results = judged(write(right, tmp_path / "right"), weights)
    assert plan.server
    assert plan.server.adapters == (plan.model_path,)
    assert results[NAME].outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("given", "names", "says"),
    [
        ("""--lora-modules '{"name": "gsm", "path": "adapter"}'""", ("gsm",),
         'pass --served-model-name base-model, and write "$MODEL_PATH" in --lora-modules'),
        ("--lora-modules a=./adapter b=./adapter", ("a", "b"),
         'pass --served-model-name base-model, and write "$MODEL_PATH" in --lora-modules'),
        ("--served-model-name x --lora-modules a=./adapter b=./adapter", ("a", "b"),
         'write "$MODEL_PATH" in --lora-modules as the name of the adapter to measure'),
    ],
)  # fmt: skip
def test_without_an_exact_place_the_repair_is_in_words(
    given: str, names: tuple[str, ...], says: str, tmp_path: Path, weights: Path
) -> None:
    plan, results = judged(write(_script(given), tmp_path / "r"), weights)
    assert plan.server
    assert plan.server.adapters == names
    (found,) = results[NAME].findings
    assert not found.edits
    assert says in found.fix
