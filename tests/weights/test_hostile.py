"""Weights that mean harm: each ends within the limits, with a finding."""

from __future__ import annotations

import json
import os
import re
import resource
from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.stages.weights.facts import survey
from tests.weights.folders import (
    CHATML,
    QWEN3,
    findings,
    judge,
    model,
    plan,
    said,
    sharded,
    write_json,
)


def truncate(path: Path, size: int) -> None:
    with path.open("ab") as file:
        file.truncate(size)


@pytest.mark.process
@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer_config.json", "generation_config.json", "modules.json"]
)
def test_a_document_of_two_gigabytes_is_not_read(name: str, tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    truncate(folder / name, 2 * 10**9)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = judge(folder, task="text-generation", plan=plan(max_model_len="4096"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    if name != "modules.json":
        assert "2,000,000,000 bytes" in said(results, "weights/config") + said(
            results, "weights/tokenizer"
        )


@pytest.mark.process
@pytest.mark.parametrize(
    "text",
    ["[" * 500_000, '{"a":' * 200_000, "1" * 5_000_000, '{"architectures":' + "9" * 20_000 + "}"],
)
def test_deep_and_long_json_is_a_finding(text: str, tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "config.json").write_text(text)
    results = judge(folder, task="text-generation")
    assert results["weights/config"].outcome.value == "fail"


@pytest.mark.parametrize(
    "value",
    [
        [],
        7,
        None,
        "x",
        {"architectures": 5},
        {"architectures": [5, None]},
        {"architectures": "Qwen3ForCausalLM"},
    ],
)
def test_json_of_another_shape_never_breaks_the_kit(value: object, tmp_path: Path) -> None:
    folder = sharded(tmp_path / "w")
    for name in ("config.json", "generation_config.json", "tokenizer_config.json", "model.safetensors.index.json",
                 "quant_model_description.json", "modules.json", "adapter_config.json", "special_tokens_map.json"):  # fmt: skip
        write_json(folder / name, value)
    results = judge(folder, plan=plan(tensor_parallel_size="x", max_model_len="-1"))
    assert "error" not in {result.outcome.value for result in results.values()}


@pytest.mark.parametrize(
    "key",
    sorted(
        {*QWEN3, "auto_map", "quantization_config", "text_config", "layer_types", "sliding_window"}
    ),
)
@pytest.mark.parametrize(
    "value", [None, -1, 0, 2**80, 1.5, float("nan"), "x", [], ["x", 3], {"a": {"b": 1}}, True]
)
def test_any_value_of_a_key_never_breaks_the_kit(key: str, value: object, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    write_json(folder / "config.json", {**QWEN3, key: value})
    (folder / "model.safetensors").write_bytes(b"\x02" + b"\0" * 7 + b"{}")
    results = judge(folder, plan=plan(tensor_parallel_size="2"), npu="910B4", npus=2)
    assert "error" not in {result.outcome.value for result in results.values()}


LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% for k in range(99999) %}{% endfor %}{% endfor %}{% endfor %}"


@pytest.mark.process
@pytest.mark.parametrize(
    ("template", "text"),
    [
        (LOOP, "did not end within"),
        ("{{ 'a' * 10000000000 }}", "memory"),
        (
            "{% for i in range(99999) %}{{ messages[0].content * 9999 }}{% endfor %}",
            "writes more than",
        ),
        (
            "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}",
            "memory|did not end",
        ),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "SecurityError"),
        ("{{ raise_exception('\x1b[31mred\x1b[0m') }}", r"\\x1b\[31mred"),
        ("{% include '/etc/passwd' %}", "no loader"),
    ],
    ids=["loops", "allocates", "writes", "doubles", "recurses", "escapes", "colours", "includes"],
)
def test_a_chat_template_is_held_in_its_limits(template: str, text: str, tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "chat_template.jinja").write_text(template)
    results = judge(folder)
    assert findings(results) == {"weights/tokenizer": "fail"}
    assert re.search(text, said(results, "weights/tokenizer"))


@pytest.mark.process
def test_names_with_control_characters_are_shown_harmless(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    nasty = b"a\x1b[2J\nb\xff.safetensors"
    Path(os.fsdecode(os.fsencode(folder) + b"/" + nasty)).write_bytes(b"short")
    text = said(judge(folder), "weights/complete") + said(judge(folder), "weights/safetensors")
    assert "\\x1b[2J\\x0ab" in text
    assert "\x1b" not in text
    text.encode("utf-8")


@pytest.mark.process
def test_pipes_and_devices_are_named_and_never_opened(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    (folder / "zero.safetensors").symlink_to("/dev/zero")
    results = judge(folder, task="text-generation")
    assert "not a regular file" in said(results, "weights/config")
    assert "is not followed" in said(results, "weights/complete")


@pytest.mark.process
def test_links_out_of_the_folder_are_not_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    write_json(secret, {"architectures": ["SecretForCausalLM"]})
    folder = model(tmp_path / "w")
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(secret)
    results = judge(folder, task="text-generation")
    assert results["weights/config"].outcome.value == "fail"
    assert "SecretForCausalLM" not in "".join(said(results, check) for check in results)


@pytest.mark.process
def test_a_snapshot_may_lead_to_its_own_blobs_and_no_further(tmp_path: Path) -> None:
    folder = model(tmp_path / "models--a--b" / "snapshots" / "1")
    other = tmp_path / "models--a--b" / "refs"
    other.mkdir()
    (folder / "model.safetensors").rename(other / "x")
    (folder / "model.safetensors").symlink_to("../../refs/x")
    assert "is not followed" in said(judge(folder), "weights/complete")


def test_hard_links_and_links_count_once_and_git_not_at_all(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    os.link(folder / "model.safetensors", folder / "again.bin.txt")
    (folder / "link.txt").symlink_to("model.safetensors")
    (folder / ".git" / "lfs").mkdir(parents=True)
    (folder / ".git" / "lfs" / "object").write_bytes(b"x" * 10_000)
    weights = survey(folder)
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert weights.whole.total_bytes == sum((folder / name).stat().st_size for name in names)
    assert weights.folder.git_bytes == 10_000


def test_only_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / "file", tmp_path / ("x" * 5000), Path("a\0b")):
        (tmp_path / "file").write_text("x")
        with pytest.raises(UsageError):
            survey(path)


@pytest.mark.process
def test_the_code_of_the_weights_is_never_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model(tmp_path / "w", {**QWEN3, "auto_map": {"AutoConfig": "configuration_x.X"}})
    for name in (
        "configuration_x.py",
        "json.py",
        "jinja2.py",
        "healthcheck.py",
        "sitecustomize.py",
    ):
        (folder / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(folder)
    assert findings(judge(folder, plan=plan(trust_remote_code=""))) == {}
    assert not (tmp_path / "ran").exists()


@pytest.mark.process
def test_a_template_with_every_character_is_passed_on_whole(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    text = {"chat_template": CHATML + "{# \U0001f600 \ud800 ü #}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(text))
    assert findings(judge(folder)) == {}
