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


PLAIN = {"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}}}
ADDED = [{"id": 1, "content": "<think>"}, {"id": 2, "content": "</think>"}]


@pytest.mark.parametrize(
    ("tokenizer", "config", "files", "options", "stack", "outcome", "says"),
    [
        # Qwen2.5-7B-Instruct with the parser of DeepSeek-R1
        (PLAIN, {}, {}, {}, "", "fail", "not contain <think> and </think>"),
        (PLAIN, {}, {}, {}, "0.30.0rc2", "fail", "vLLM 0.30.0 cannot answer a chat"),
        (PLAIN | {"added_tokens": ADDED[:1]}, {}, {}, {}, "", "fail", "not contain </think>"),
        (PLAIN, {}, {}, {"reasoning_parser": "seed_oss"}, "0.18.0", "fail", "<seed:think> and </seed:think>"),
        # a template has the words, and the vocabulary does not
        (PLAIN, {"chat_template": OPENS + "</think>"}, {}, {}, "", "fail", "remove --reasoning-parser"),
        # parsers of other releases are unknown
        (PLAIN, {}, {}, {"reasoning_parser": "qwen3"}, "0.18.0", "fail", "not contain <think>"),
        (PLAIN, {}, {}, {"reasoning_parser": "qwen3"}, "", "warn", "not contain <think>"),
        (PLAIN, {}, {}, {"reasoning_parser": "qwen3"}, "0.30.0rc2", "warn", "`content` is empty"),
        (PLAIN, {}, {}, {}, "0.17.0rc1", "warn", "`content` is empty"),
        # the tokens are there
        (PLAIN | {"added_tokens": ADDED}, {"chat_template": OPENS}, {}, {}, "", None, ""),
        (PLAIN, {"chat_template": OPENS, "added_tokens_decoder": {"1": ADDED[0], "2": ADDED[1]}}, {}, {}, "", None, ""),
        (PLAIN, {"chat_template": OPENS, "additional_special_tokens": ["<think>", "</think>"]}, {}, {}, "", None, ""),
        (PLAIN, {"chat_template": OPENS}, {"added_tokens.json": '{"<think>": 1, "</think>": 2}'}, {}, "", None, ""),
        # they may be there
        (PLAIN, {"chat_template": OPENS}, {"added_tokens.json": '{"\\u003cthink>": 1}'}, {}, "", None, ""),
        (PLAIN, {"chat_template": OPENS}, {"tokenizer.model": "x"}, {}, "", None, ""),
        (PLAIN, {"chat_template": OPENS}, {"tekken.json": "{}"}, {}, "", None, ""),
        (PLAIN, {"chat_template": OPENS, "auto_map": {"AutoTokenizer": ["t.T", None]}}, {}, {}, "", None, ""),
        (PLAIN, {"chat_template": OPENS}, {}, {"tokenizer": "/other"}, "", None, ""),
        (None, {"chat_template": OPENS}, {"tokenizer.model": "x"}, {}, "", None, ""),
        (None, {"chat_template": OPENS}, {"qwen.tiktoken": "x"}, {}, "", None, ""),
    ],
)  # fmt: skip
def test_a_parser_whose_tokens_the_vocabulary_lacks(
    tokenizer: dict | None,
    config: dict,
    files: dict[str, str],
    options: dict[str, str],
    stack: str,
    outcome: str | None,
    says: str,
    tmp_path: Path,
) -> None:
    folder = weights(tmp_path / "w", QWEN25, CHATML)
    write_json(folder / "tokenizer_config.json", {"chat_template": CHATML} | config)
    (folder / "tokenizer.json").unlink()
    if tokenizer is not None:
        write_json(folder / "tokenizer.json", tokenizer)
    for name, text in files.items():
        (folder / name).write_text(text)
    launch = replace(plan(**({"reasoning_parser": "deepseek_r1"} | options)), stack=stack)
    results = judge(folder, plan=launch)
    assert findings(results) == ({CHECK: outcome} if outcome else {}), said(results, CHECK)
    assert says in said(results, CHECK)


def test_the_parser_of_the_model_replaces_one_whose_tokens_are_missing(tmp_path: Path) -> None:
    folder = weights(tmp_path / "w", GLM, THINKS)
    write_json(folder / "tokenizer.json", PLAIN)
    results = judge(folder, plan=plan(reasoning_parser="deepseek_r1"))
    assert "pass --reasoning-parser glm45" in said(results, CHECK)


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
    reasoning = {
        name for release in releases for name in nearest(release).known["--reasoning-parser"]
    }
    assert {name for each in table.delimiters for name in each.parsers} - reasoning == set()
    assert all(re.compile(pair.mark) and json.dumps(pair.source) != '""' for pair in table.pairs)
