"""Where a chat template, a task and an architecture are looked for, and in which order."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from healthcheck.ascend import hardware
from healthcheck.contract import Task
from healthcheck.stages.repo.facts import read_submission
from healthcheck.stages.weights import registry
from healthcheck.stages.weights.facts import survey
from healthcheck.stages.weights.nature import Family, architecture_nature
from healthcheck.stages.weights.records import WeightsFacts
from healthcheck.stages.weights.render import render
from healthcheck.stages.weights.task import task_of
from tests.support import repositories
from tests.weights.folders import (
    CHATML,
    OMNI,
    QWEN3,
    VISION,
    findings,
    judge,
    model,
    plan,
    said,
    write_json,
)

PEER = Path(__file__).parents[2] / ".venv-vllm" / "bin" / "python"
BROKEN = "{{ raise_exception('wrong template') }}"


@pytest.mark.process
def test_the_jinja_file_is_preferred_to_the_configuration(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "chat_template.jinja").write_text(BROKEN)
    assert "chat_template.jinja raises" in said(judge(folder), "weights/tokenizer")


@pytest.mark.process
def test_a_processors_template_counts_for_models_with_a_processor(tmp_path: Path) -> None:
    folder = model(tmp_path / "w", VISION)
    (folder / "tokenizer_config.json").write_text("{}")
    write_json(folder / "chat_template.json", {"chat_template": CHATML})
    assert findings(judge(folder))["weights/tokenizer"] == "warn"
    (folder / "preprocessor_config.json").write_text("{}")
    assert "weights/tokenizer" not in findings(judge(folder))


@pytest.mark.parametrize(
    ("config", "options", "outcome"),
    [
        ({"architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32"}, {}, None),
        ({"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3"}, {}, "fail"),
        ({"architectures": ["DeepseekV3ForCausalLM"]}, {"tokenizer_mode": "deepseek_v32"}, None),
        ({"architectures": ["DeepseekVLV2ForCausalLM"], "model_type": "deepseek_vl_v2"}, {}, None),
        ({"architectures": ["DeepseekV32ForCausalLM"]}, {"engine": "sglang"}, "warn"),
    ],
)
def test_conversations_that_the_engine_encodes_itself(
    config: dict, options: dict, outcome: str | None, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w", config)
    (folder / "tokenizer_config.json").write_text("{}")
    results = judge(folder, only="weights/tokenizer", plan=plan(**options))
    assert findings(results).get("weights/tokenizer") == outcome


def repository(folder: Path, **files: str) -> Path:
    folder.mkdir()
    (folder / "deploy.sh").write_text("#!/bin/sh\n")
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


@pytest.mark.process
def test_a_template_by_flag_from_the_repository(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "tokenizer_config.json").write_text("{}")
    submission = read_submission(repository(tmp_path / "r", chat__jinja=CHATML, bad__jinja=BROKEN))
    for flag, outcome in (
        ("chat.jinja", None),
        ("/repo/chat.jinja", None),
        ("bad.jinja", "fail"),
        ("gone.jinja", "fail"),
    ):
        results = judge(folder, plan=plan(chat_template=flag), submission=submission)
        assert findings(results).get("weights/tokenizer") == outcome, said(
            results, "weights/tokenizer"
        )


@pytest.mark.process
def test_a_template_by_flag_from_the_weights_or_as_text(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "own.jinja").write_text(CHATML)
    for flag, outcome in (
        ("/weights/own.jinja", None),
        (CHATML, None),
        ("{{ messages[0].role }}", "fail"),
        ("/weights/../secret", "skip"),
    ):
        results = judge(folder, plan=plan(chat_template=flag))
        assert findings(results).get("weights/tokenizer") == outcome, said(
            results, "weights/tokenizer"
        )


def test_a_template_by_flag_that_is_nowhere_is_left_open(tmp_path: Path) -> None:
    results = judge(model(tmp_path / "w"), plan=plan(chat_template="/opt/image/template.jinja"))
    assert not results["weights/tokenizer"].settled


@pytest.mark.process
def test_deploy_sh_can_set_the_templates_variables(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "chat_template.jinja").write_text(
        "{% if not style %}{{ raise_exception('style') }}{% endif %}" + CHATML
    )
    assert findings(judge(folder))["weights/tokenizer"] == "fail"
    assert not findings(judge(folder, plan=plan(default_chat_template_kwargs='{"style": 1}')))


CARD = "---\npipeline_tag: {}\n---\n"


@pytest.mark.process
def test_the_order_in_which_a_task_is_looked_for(tmp_path: Path) -> None:
    folder = model(tmp_path / "w", VISION)
    submission = read_submission(repository(tmp_path / "r", README__md=CARD.format("any-to-any")))
    plain = WeightsFacts(uploaded=survey(folder))
    assert task_of(plain) == ("image-text-to-text", "the architecture")
    assert task_of(WeightsFacts(uploaded=survey(folder), submission=submission))[0] == "any-to-any"
    (folder / "README.md").write_text(CARD.format("text-generation"))
    assert (
        task_of(WeightsFacts(uploaded=survey(folder), submission=submission))[0]
        == "text-generation"
    )
    assert task_of(WeightsFacts(uploaded=survey(folder), task=Task.IMAGE_TEXT_TO_TEXT)) == (
        "image-text-to-text",
        "--task",
    )
    assert task_of(WeightsFacts(uploaded=survey(folder), task="x")) == ("x", "--task")


NATURES = {
    "text": ({**QWEN3}, {"text"}, "text-generation"),
    "vision": (VISION, {"text", "image"}, "image-text-to-text"),
    "omni": ({**OMNI, "architectures": ["Qwen2_5OmniForConditionalGeneration"]}, {"text", "image", "audio"}, "any-to-any"),
    "audio": ({"architectures": ["Qwen2AudioForConditionalGeneration"], "audio_config": {"x": 1}}, {"text", "audio"}, "text-generation"),
    "text part of a multimodal family": ({"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text"}, {"text"}, "text-generation"),
    "an unknown one with a vision part": ({"architectures": ["FooForConditionalGeneration"], "vision_config": {"a": 1}}, {"text", "image"}, "image-text-to-text"),
}  # fmt: skip


@pytest.mark.parametrize("name", NATURES)
def test_what_a_configuration_says_that_a_model_takes(name: str, tmp_path: Path) -> None:
    config, takes, task = NATURES[name]
    facts = WeightsFacts(uploaded=survey(model(tmp_path / "w", config)))
    assert facts.nature().takes == takes
    assert task_of(facts)[0] == task


FAMILIES = {
    "T5ForConditionalGeneration": Family.ENCODES_DECODES,
    "BartForConditionalGeneration": Family.ENCODES_DECODES,
    "BertModel": Family.EMBEDS,
    "XLMRobertaForSequenceClassification": Family.CLASSIFIES,
    "LlamaForSequenceClassification": Family.CLASSIFIES,
    "RobertaForMaskedLM": Family.ENCODES,
    "ElectraForPreTraining": Family.ENCODES,
    "InternLM2ForRewardModel": Family.REWARDS,
    "Qwen2ForProcessRewardModel": Family.REWARDS,
    "Wav2Vec2ForCTC": Family.TRANSCRIBES,
    "WhisperForConditionalGeneration": Family.TRANSCRIBES,
    "SpeechT5ForTextToSpeech": Family.SPEAKS,
    "MusicgenForConditionalGeneration": Family.SPEAKS,
    "UNet2DConditionModel": Family.DIFFUSES,
    "ViTForImageClassification": Family.SEES,
    "Eagle3Qwen3ForCausalLM": Family.DRAFTS,
    "LlamaForCausalLM": Family.GENERATES,
    "ChatGLMModel": Family.GENERATES,
    "InternVLChatModel": Family.GENERATES,
    "GPT2LMHeadModel": Family.GENERATES,
    "BrandNewForCausalLM": Family.GENERATES,
    "Something": Family.UNKNOWN,
}


@pytest.mark.parametrize("architecture", FAMILIES)
def test_what_an_architecture_is_for(architecture: str) -> None:
    newest_first = registry.releases()[::-1]
    assert (
        architecture_nature({"architectures": [architecture]}, newest_first).family
        is FAMILIES[architecture]
    )


def test_the_catalogue_knows_what_its_releases_are_known_for() -> None:
    by_version = {release.vllm: release for release in registry.releases()}
    assert {"0.18.0", "0.23.0", "0.32.0"} <= by_version.keys()
    assert list(by_version) == sorted(by_version, key=Version)
    for release in by_version.values():
        assert release.generates("Qwen3ForCausalLM")
        assert release.generates("Qwen2_5_VLForConditionalGeneration")
        assert not release.generates("BertModel")
        assert "WhisperForConditionalGeneration" in release.transcription_only
        assert {"qwen3", "llama", "deepseek_v3"} <= release.model_types
    assert by_version["0.32.0"].removed["QWenLMHeadModel"] == "0.23.0"


@pytest.mark.peer
def test_the_catalogue_is_what_the_installed_vllm_registers() -> None:
    """Source of truth: the names that vLLM's registry itself lists, imported in its own environment."""
    if not PEER.exists():
        pytest.skip("the environment .venv-vllm is not there")
    script = "import json, vllm; from vllm import ModelRegistry as r; print(json.dumps([vllm.__version__, sorted(r.get_supported_archs())]))"
    run = subprocess.run(
        [PEER, "-c", script], capture_output=True, text=True, check=True, timeout=280
    )
    version, names = json.loads(run.stdout.strip().splitlines()[-1])
    release = next(each for each in registry.releases() if each.vllm == version.partition("+")[0])
    assert set().union(*release.groups.values()) == set(names)


TEMPLATES = (
    CHATML,
    "{{ bos_token }}{% for m in messages %}{% if loop.index0 > 2 %}{% break %}{% endif %}{{ m | tojson }}\n{% endfor %}",
    "{%- for m in messages -%}\n  {% generation %}{{ m['content'] | trim }}{% endgeneration %}\n{%- endfor %}",
    "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + m.content | length %}{% endfor %}{{ ns.n }}<é>",
    "{% macro say(m) %}[{{ m.role | upper }}]{% endmacro %}{{ say(messages[-1]) }}{{ tools is none }}{{ missing is defined }}",
    "{{ messages | map(attribute='role') | join(',') }}{{ {'a': '<&>'} | tojson(indent=2) }}",
)


@pytest.mark.peer
@pytest.mark.parametrize("template", TEMPLATES)
def test_templates_render_as_transformers_renders_them(template: str) -> None:
    if not PEER.exists():
        pytest.skip("the environment .venv-vllm is not there")
    messages = [
        {"role": role, "content": f"  {role} says <b>5 & 6</b> "}
        for role in ("system", "user", "assistant", "user")
    ]
    script = (
        "import json, sys; from transformers.utils.chat_template_utils import render_jinja_template as r\n"
        "t, m = json.load(sys.stdin); print(json.dumps(r([m], chat_template=t, add_generation_prompt=True, bos_token='<s>')[0][0]))"
    )
    run = subprocess.run(
        [PEER, "-c", script],
        input=json.dumps([template, messages]),
        capture_output=True,
        text=True,
        check=True,
        timeout=280,
    )
    (ours,) = render(template, [messages], {"bos_token": "<s>"}).rows
    assert ours.text == json.loads(run.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize(
    ("name", "kind", "gib"),
    [("910B4", "910B4", 32), ("Ascend910B3", "910B3", 64), ("ascend 910b4-1", "910B4-1", 64), ("Ascend910_9391", "910C", 64),
     ("910B", "910B4", 32), ("Atlas 800T A2", "910B4", 32), ("310P Duo", "310P3-Duo", 42), ("Atlas 800I A3", "910C", 64), ("A3", "910C", 64), ("310P3vir08", "310P3", 21), ("910B2C", "910B2C", 64)],
)  # fmt: skip
def test_a_kind_of_npu_is_found_by_the_names_that_people_use(
    name: str, kind: str, gib: int
) -> None:
    found = hardware.find(name)
    assert found[0].name == kind
    assert found[0].memory_bytes // 2**30 == gib


@pytest.mark.parametrize("name", ["", "H100", "9", "gpu", "\x1b"])
def test_other_names_are_no_kind(name: str) -> None:
    assert hardware.find(name) == ()


@pytest.mark.parametrize(
    ("given", "weights", "repository", "judged", "contradicted"),
    [
        (None, "text-generation", "image-text-to-text", "text-generation", ["repository's"]),
        (
            "text-generation",
            "image-text-to-text",
            "any-to-any",
            "text-generation",
            ["weights'", "repository's"],
        ),
        (None, "text-generation", "text-generation", "text-generation", []),
        (None, "", "text-generation", "text-generation", []),
    ],
)
def test_cards_that_contradict_the_judged_task_are_named(
    given: str | None,
    weights: str,
    repository: str,
    judged: str,
    contradicted: list[str],
    tmp_path: Path,
) -> None:
    root = repositories.folder(
        tmp_path / "r", {"README.md": f"---\npipeline_tag: {repository}\n---\n"}
    )
    made = model(tmp_path / "w")
    if weights:
        (made / "README.md").write_text(f"---\npipeline_tag: {weights}\n---\n")
    (result,) = judge(made, "task/supported", task=given, submission=read_submission(root)).values()
    assert [
        finding.seen.partition("in the ")[2].split()[0] for finding in result.findings
    ] == contradicted
    assert all(judged in finding.expected for finding in result.findings)
