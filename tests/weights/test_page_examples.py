"""The page of a weights check shows files that it objects to, and the repaired ones: both are judged."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.plan.servers.options import parse, vllm_grammar
from healthcheck.verify import catalogue
from tests.support.page_examples import example, pages
from tests.weights.folders import CHATML, QWEN3, header, judge, plan

pytestmark = pytest.mark.process

PAGES = pages("weights")
FILES, HEADER, SCRIPT, SETTING = "files", "header of ", "deploy.sh", "export "
USUAL = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
CHIPS = {"plan/options-suit-chip": "310P3-Duo"}
"""The chips that examples are about where it is not a usual one."""
PICKLE = b"\x80\x02}q\x00."
CONTENTS = {
    "config.json": json.dumps(QWEN3).encode(),
    "preprocessor_config.json": b'{"image_processor_type": "Qwen2VLImageProcessor"}',
    "pytorch_model.bin": PICKLE,
    "tokenizer.json": b'{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}}}',
    "tokenizer_config.json": json.dumps(
        {"chat_template": CHATML, "eos_token": "<|im_end|>"}
    ).encode(),
}


def shard(text: str = "") -> tuple[bytes, int]:
    """A safetensors file with the header that a page shows: its first bytes, and the size of the whole file."""
    if not text:
        head, size = header({"model.embed_tokens.weight": ("BF16", (16, 8))})
        return head, len(head) + size
    data = text.strip().encode()
    end = max(int(tensor["data_offsets"][1]) for tensor in json.loads(data).values())
    return len(data).to_bytes(8, "little") + data, 8 + len(data) + end


def folder(root: Path, shown: dict[str, str]) -> Path:
    """The weights that a page shows: the files of its list, else the usual ones, with the contents that it gives."""
    root.mkdir()
    listed = [line.split(maxsplit=1) for line in shown.get(FILES, "\n".join(USUAL)).splitlines()]
    sizes = {name: rest[0] if rest else "" for name, *rest in listed}
    given = [name for name in shown if name not in {FILES, SCRIPT} and not name.startswith(HEADER)]
    for name in dict.fromkeys([*sizes, *given]):
        path = root / name
        path.parent.mkdir(exist_ok=True)
        begin, size = (
            shard(shown.get(f"{HEADER}{name}", "")) if name.endswith(".safetensors") else (b"", 0)
        )
        path.write_bytes(
            shown[name].encode() if name in shown else begin or CONTENTS.get(path.name, b"")
        )
        if amount := sizes.get(name, "").removesuffix(" GB"):
            size = int(amount) * 10**9
        if size:
            os.truncate(path, size)
    return root


def options(script: str) -> dict[str, str]:
    """The options of the `vllm serve` that a page shows."""
    lines = [line for line in script.splitlines() if not line.startswith(SETTING)]
    words = shlex.split("\n".join(lines).replace("exec vllm serve", ""))
    return dict(parse(words, vllm_grammar()).options)


def environment(script: str) -> dict[str, str]:
    """The variables that the script of a page exports."""
    settings = (
        line.removeprefix(SETTING) for line in script.splitlines() if line.startswith(SETTING)
    )
    return {name: value for name, _, value in (setting.partition("=") for setting in settings)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id)
def test_a_check_objects_to_its_example_and_not_to_the_repaired_one(
    page: catalogue.Page, tmp_path: Path
) -> None:
    shown = example(page)
    task = None if page.id == "task/supported" else "text-generation"
    nothing_left = {Outcome.SKIP} if page.id == "weights/pickle" else set()
    for name, files, outcomes in (
        ("wrong", shown.wrong, {Outcome.FAIL, Outcome.WARN}),
        ("right", shown.right, {Outcome.PASS, *nothing_left}),
    ):
        script = files.get(SCRIPT, "")
        launch = plan(environment=environment(script), **options(script))
        npu = CHIPS.get(page.id)
        result = judge(folder(tmp_path / name, files), page.id, task=task, plan=launch, npu=npu)[
            page.id
        ]
        assert result.outcome in outcomes, (name, result)
