"""plan/parsers-fit: the parsers that a source pairs with a model, and those that empty `content`."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from healthcheck.stages.plan.vllm_cli.catalogue import nearest
from healthcheck.stages.plan.vllm_cli.parsers import known_parsers
from tests.weights import folders
from tests.weights.folders import CHATML, QWEN3, findings, model, plan, said, write_json

CHECK = "plan/parsers-fit"
judge = partial(folders.judge, only=CHECK)
GLM = {**QWEN3, "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe"}
LLAMA = {**QWEN3, "architectures": ["LlamaForCausalLM"], "model_type": "llama"}
QWEN25 = {**QWEN3, "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}
THINKS = CHATML + "{{ '</think>' }}"
OPENS = CHATML + "{% if add_generation_prompt %}{{ '<think>\\n' }}{% endif %}"
JSON_CALLS = CHATML + '{{- "<tool_call>\\n{\\"name\\": <function-name>}\\n</tool_call>" }}'
XML_CALLS = CHATML + "<tool_call>\n<function=example>"


def weights(folder: Path, config: dict, template: str) -> Path:
    write_json(model(folder, config) / "tokenizer_config.json", {"chat_template": template})
    return folder


@pytest.mark.parametrize(
    ("config", "template", "reasoning", "tools", "says"),
    [
        # a public script for GLM-4.5-Air
        (GLM, THINKS, "deepseek_r1", "qwen3_coder", ["pass --reasoning-parser glm45", "--tool-call-parser glm45 or glm47, for", "pass --tool-call-parser glm45"]),
        (GLM, THINKS, "glm45", "glm47", []),
        (QWEN3, THINKS, "qwen3", "hermes", []),
        (QWEN3, OPENS, "deepseek_r1", None, []),
        (QWEN3, THINKS, "glm45", None, ['"model_type": "qwen3"']),
        # an Instruct model thinks nothing, so that nothing ends
        (QWEN3, CHATML, "qwen3", None, ["remove --reasoning-parser"]),
        (QWEN25, CHATML, "deepseek_r1", None, ["`content` is empty"]),
        (QWEN25, CHATML, "mistral", None, []),
        # a dense architecture has the format of its fine-tuning
        (QWEN25, JSON_CALLS, None, "hermes", []),
        (QWEN25, JSON_CALLS, None, "llama3_json", ["the calls in the chat template"]),
        (QWEN25, XML_CALLS, None, "qwen3_coder", []),
        (QWEN25, XML_CALLS, None, "hermes", ["--tool-call-parser qwen3_coder or qwen3_xml", "pass --tool-call-parser qwen3_coder"]),
        (LLAMA, CHATML, None, "llama3_json", []),
        (LLAMA, THINKS, "granite", "internlm", []),
    ],
)  # fmt: skip
def test_parsers(
    config: dict,
    template: str,
    reasoning: str | None,
    tools: str | None,
    says: list[str],
    tmp_path: Path,
) -> None:
    given = {"reasoning_parser": reasoning, "tool_call_parser": tools}
    launch = plan(**{option: parser for option, parser in given.items() if parser})
    results = judge(weights(tmp_path / "w", config, template), plan=launch)
    assert findings(results) == ({CHECK: "warn"} if says else {}), said(results, CHECK)
    assert [text for text in says if text not in said(results, CHECK)] == []


@pytest.mark.parametrize(
    "options",
    [
        {"reasoning_parser": "mine", "reasoning_parser_plugin": "mine.py"},
        {"reasoning_parser": "qwen3", "chat_template": "other.jinja"},
        {"enable_auto_tool_choice": ""},
    ],
)
def test_what_is_not_judged(options: dict[str, str], tmp_path: Path) -> None:
    assert findings(judge(model(tmp_path / "w"), plan=plan(**options))) == {}


def test_the_repair_names_the_key_of_adapter_toml(tmp_path: Path) -> None:
    launch = replace(plan(tool_call_parser="hermes"), settings='tool_call_parser = "hermes"\n')
    results = judge(weights(tmp_path / "w", GLM, THINKS), plan=launch)
    assert 'write tool_call_parser = "glm45' in said(results, CHECK)


def test_vllm_knows_each_parser() -> None:
    table, releases = known_parsers(), ("0.23.0", "0.33.0")
    for option in ("reasoning-parser", "tool-call-parser"):
        known = {name for release in releases for name in nearest(release).known[f"--{option}"]}
        named = {name for pair in table.pairs if pair.option == option for name in pair.parsers}
        assert named - known == set()
    assert all(re.compile(pair.mark) and json.dumps(pair.source) != '""' for pair in table.pairs)
