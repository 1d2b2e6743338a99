"""plan/flags: the repair of an unknown parser is the parser of the model, and passes when it is applied."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.plan.vllm_cli.parsers import read_format
from tests.plan.corpus import Case, sh
from tests.support.plans import judged, write

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
JSON_CALLS = CHATML + """{{- '<tool_call>\\n{"name": "' }}"""
XML_CALLS = CHATML + "<tool_call>\n<function=example>"
THINKS = CHATML + "{{ '</think>' }}"


def weights(folder: Path, model_type: str, template: str, *, jinja: bool = False) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps({"model_type": model_type, "max_position_embeddings": 2048})
    )
    (folder / "tokenizer_config.json").write_text(
        json.dumps({} if jinja else {"chat_template": template})
    )
    if jinja:
        (folder / "chat_template.jinja").write_text(template)
    return folder


def verdict(folder: Path, options: str, place: Path) -> tuple[Outcome, str]:
    """The outcome of plan/flags for a launch with these options, and its first repair."""
    script = sh(f'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 {options}')
    root = write(Case(name="parsers", files={"deploy.sh": script}, expected={}), place)
    result = judged(root, folder)[1]["plan/flags"]
    return result.outcome, next((finding.fix for finding in result.findings if finding.fix), "")


CALLS = "--enable-auto-tool-choice --tool-call-parser"


@pytest.mark.process
@pytest.mark.parametrize(
    ("model_type", "template", "jinja", "options", "repaired"),
    [
        ("qwen3", JSON_CALLS, False, f"{CALLS} qwen", f"{CALLS} hermes"),
        ("qwen3_moe", XML_CALLS, True, f"{CALLS} qwen3", f"{CALLS} qwen3_coder"),
        ("qwen3_moe", XML_CALLS, True, f"{CALLS} qwen3-xml", f"{CALLS} qwen3_xml"),
        ("glm4_moe", THINKS, False, f"{CALLS} glm4", f"{CALLS} glm45"),
        ("qwen3", THINKS, False, "--reasoning-parser qwen", "--reasoning-parser qwen3"),
        ("qwen3", CHATML, False, "--reasoning-parser qwen", ""),
        ("llama", CHATML, False, f"{CALLS} llama", ""),
    ],
)
def test_the_repair_is_the_parser_of_the_model(
    model_type: str, template: str, jinja: bool, options: str, repaired: str, tmp_path: Path
) -> None:
    folder = weights(tmp_path / "w", model_type, template, jinja=jinja)
    outcome, fix = verdict(folder, options, tmp_path / "before")
    assert outcome is not Outcome.PASS
    written = re.search(r"(?:write (--\S+ \S+), which fits|by `(--\S+ \S+)`$)", fix)
    meant = (written[1] or written[2]) if written else "nothing"
    assert fix.startswith("remove ") if not repaired else repaired.endswith(meant), fix
    assert verdict(folder, repaired, tmp_path / "after")[0] is Outcome.PASS


@pytest.mark.process
def test_a_misspelt_parser_of_an_unknown_model_is_a_question_of_its_card(tmp_path: Path) -> None:
    folder = weights(tmp_path / "w", "", "")
    assert verdict(folder, f"{CALLS} hermess", tmp_path / "a")[1] == (
        "write --tool-call-parser hermes if the model's card names it, or remove --enable-auto-tool-choice and "
        "--tool-call-parser"
    )
    assert verdict(folder, f"{CALLS} qwen", tmp_path / "b")[1].startswith(
        "remove --enable-auto-tool-choice"
    )


@pytest.mark.parametrize(
    "text", ["", "[", '{"model_type": 3, "chat_template": [1, {"name": "default"}]}', "[]"]
)
def test_odd_files_leave_the_format_unknown(text: str, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer_config.json"):
        (tmp_path / name).write_text(text)
    form = read_format(tmp_path)
    assert (form.model_type, form.template) == ("", "")


def test_the_template_named_default_counts(tmp_path: Path) -> None:
    named = [{"name": "rag", "template": "r"}, {"name": "default", "template": "d"}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert read_format(tmp_path).template == "d"
