"""Repairs of options that do not suit the weights or the chip: they are made where the option is written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from adapter import settings as of_the_adapter
from healthcheck.core.records import CheckResult, Finding, Level
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo.facts import read_submission
from healthcheck.stages.weights import adapter_toml
from healthcheck.verify.fix import Repair, propose
from tests.support.repositories import folder
from tests.weights import folders
from tests.weights.folders import QWEN3, model, plan, write_json

SERVE = 'exec vllm serve "$MODEL_PATH"'
EXPERTS = "plan/options-suit-weights"
FITS = "plan/fits-hardware"


def launched(script: str, argv: str, **options: str) -> LaunchPlan:
    """A launch by this script, with these arguments behind the model."""
    launch = plan(**options)
    assert launch.server is not None
    server = replace(
        launch.server,
        argv=("/weights", *argv.split()),
        command=f"vllm serve /weights {argv}",
        where=f"deploy.sh:{script[: script.find('vllm')].count(chr(10)) + 1}",
    )
    return replace(launch, server=server, servers=(server,), script=script)


def wrong(results: dict[str, CheckResult], check: str) -> list[Finding]:
    return [each for each in results[check].findings if each.level is not Level.NOTE]


def fixed(finding: Finding, files: dict[str, str]) -> dict[str, str]:
    """The files after the edits of a finding."""
    data = {path: text.encode() for path, text in files.items()}
    repair = Repair(check="x", words=finding.fix, edits=finding.edits)
    return files | {each.path: each.after.decode() for each in propose([repair], data).changes}


@pytest.mark.parametrize(
    ("script", "where", "after"),
    [
        (f"{SERVE} \\\n  --port 8000 \\\n  --enable-expert-parallel \\\n  --max-num-seqs 8\n", "deploy.sh:3",
         f"{SERVE} \\\n  --port 8000 \\\n  --max-num-seqs 8\n"),
        ('ARGS="--port 8000 --enable-expert-parallel --max-num-seqs 8"\nexec vllm serve "$MODEL_PATH" $ARGS\n', "deploy.sh:1",
         'ARGS="--port 8000 --max-num-seqs 8"\nexec vllm serve "$MODEL_PATH" $ARGS\n'),
    ],
)  # fmt: skip
def test_an_option_is_removed_where_it_is_written(
    script: str, where: str, after: str, tmp_path: Path
) -> None:
    argv = "--port 8000 --enable-expert-parallel --max-num-seqs 8"
    launch = launched(script, argv, enable_expert_parallel="", max_num_seqs="8")
    (found,) = wrong(folders.judge(model(tmp_path / "w"), EXPERTS, plan=launch), EXPERTS)
    assert found.where == where
    assert f"in {where} remove" in found.fix
    assert fixed(found, {"deploy.sh": script})["deploy.sh"] == after


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("--tensor-parallel-size 3", "--tensor-parallel-size 8"),
        ("--tensor-parallel-size=3", "--tensor-parallel-size=8"),
        ("-tp 3", "-tp 8"),
    ],
)
def test_the_largest_size_for_the_stated_devices_is_one_order(
    given: str, after: str, tmp_path: Path
) -> None:
    script = f"{SERVE} \\\n  {given} \\\n  --port 8000\n"
    launch = launched(script, f"{given} --port 8000", tensor_parallel_size="3")
    results = folders.judge(model(tmp_path / "w"), FITS, plan=launch, npu="910B3", npus=8)
    (found,) = wrong(results, FITS)
    assert found.where == "deploy.sh:2"
    assert found.fix.endswith("(1, 2, 4, 16 divide the heads, too)")
    assert fixed(found, {"deploy.sh": script})["deploy.sh"] == script.replace(given, after)


def test_more_devices_than_stated_are_no_repair(tmp_path: Path) -> None:
    weights = model(tmp_path / "w", QWEN3, {"w": ("BF16", (35 * 10**9,))})
    script = f"{SERVE} --port 8000\n"
    for argv, options in (("", {}), ("-tp 2 ", {"tensor_parallel_size": "2"})):
        launch = launched(script, f"{argv}--port 8000", **options)
        results = folders.judge(weights, FITS, plan=launch, npu="910B3", npus=1)
        (found,) = wrong(results, FITS)
        assert "this model needs 2 NPUs like a 910B3" in found.fix
        assert "whether the evaluation service offers that many" in found.fix
        assert "verify with --npus 2" in found.fix
        assert not found.edits
    free = folders.judge(weights, FITS, plan=launched(script, "--port 8000"), npu="910B3")
    (found,) = wrong(free, FITS)
    assert "`8000 --tensor-parallel-size 2`" in found.fix
    assert found.edits


def test_parallelism_that_needs_too_many_devices_goes(tmp_path: Path) -> None:
    argv = "--tensor-parallel-size 2 --pipeline-parallel-size 2 --data-parallel-size 2"
    script = f"{SERVE} {argv}\n"
    launch = launched(
        script, argv, tensor_parallel_size="2", pipeline_parallel_size="2", data_parallel_size="2"
    )
    results = folders.judge(model(tmp_path / "w"), FITS, plan=launch, npu="910B3", npus=4)
    (found,) = wrong(results, FITS)
    assert fixed(found, {"deploy.sh": script})["deploy.sh"] == (
        f"{SERVE} --tensor-parallel-size 4\n"
    )


def test_prefill_context_parallelism_takes_devices_too(tmp_path: Path) -> None:
    argv = "--tensor-parallel-size 2 --prefill-context-parallel-size 2"
    script = f"{SERVE} {argv}\n"
    launch = launched(script, argv, tensor_parallel_size="2", prefill_context_parallel_size="2")
    weights = model(tmp_path / "w")
    assert not wrong(folders.judge(weights, FITS, plan=launch, npu="910B3", npus=4), FITS)
    (found,) = wrong(folders.judge(weights, FITS, plan=launch, npu="910B3", npus=2), FITS)
    assert "4 needed" in found.seen
    assert fixed(found, {"deploy.sh": script})["deploy.sh"] == f"{SERVE} --tensor-parallel-size 2\n"


@pytest.mark.parametrize(
    ("assignment", "after"),
    [
        ("export ASCEND_RT_VISIBLE_DEVICES=0\n", ""),
        ("if true; then\n  export ASCEND_RT_VISIBLE_DEVICES=0\nfi\n", "if true; then\n  :\nfi\n"),
        ("ASCEND_RT_VISIBLE_DEVICES=0\nexport ASCEND_RT_VISIBLE_DEVICES\n", "export ASCEND_RT_VISIBLE_DEVICES\n"),
    ],
)  # fmt: skip
def test_a_variable_is_removed_where_it_is_assigned(
    assignment: str, after: str, tmp_path: Path
) -> None:
    script = f"{assignment}{SERVE} --tensor-parallel-size 2\n"
    argv = "--tensor-parallel-size 2"
    launch = launched(script, argv, devices="0", tensor_parallel_size="2")
    (found,) = wrong(folders.judge(model(tmp_path / "w"), FITS, plan=launch, npus=2), FITS)
    assert found.where.startswith("deploy.sh:")
    assert fixed(found, {"deploy.sh": script})["deploy.sh"] == (
        f"{after}{SERVE} --tensor-parallel-size 2\n"
    )


def test_a_variable_that_no_script_assigns_is_unset(tmp_path: Path) -> None:
    script = f"{SERVE} --tensor-parallel-size 2\n"
    launch = launched(script, "--tensor-parallel-size 2", devices="0", tensor_parallel_size="2")
    (found,) = wrong(folders.judge(model(tmp_path / "w"), FITS, plan=launch, npus=2), FITS)
    assert not found.edits
    assert "insert above the command that starts the server" in found.fix
    assert "unset ASCEND_RT_VISIBLE_DEVICES" in found.fix


@pytest.mark.process
@pytest.mark.parametrize(
    ("files", "argv", "after"),
    [
        ({"deploy.sh": f"source ./env.sh\n{SERVE} --tensor-parallel-size $TP\n", "env.sh": "export TP=3\n"},
         "--tensor-parallel-size 3", {"env.sh": "export TP=4\n"}),
        ({"deploy.sh": "bash serve.sh\n", "serve.sh": f"{SERVE} \\\n  --tensor-parallel-size 3 \\\n  --port 8000\n"},
         "--tensor-parallel-size 3 --port 8000",
         {"serve.sh": f"{SERVE} \\\n  --tensor-parallel-size 4 \\\n  --port 8000\n"}),
        ({"deploy.sh": f"{SERVE} --config conf.yaml\n", "conf.yaml": "port: 8000\ntensor_parallel_size: 3  # three\n"},
         "--config conf.yaml", {"conf.yaml": "port: 8000\ntensor_parallel_size: 4  # three\n"}),
    ],
)  # fmt: skip
def test_other_files_of_the_launch_are_edited(
    files: dict[str, str], argv: str, after: dict[str, str], tmp_path: Path
) -> None:
    submission = read_submission(folder(tmp_path / "r", files))
    options = {"config": "conf.yaml"} if "--config" in argv else {}
    launch = launched(files["deploy.sh"], argv, tensor_parallel_size="3", **options)
    results = folders.judge(model(tmp_path / "w"), FITS, plan=launch, npus=4, submission=submission)
    (found,) = wrong(results, FITS)
    (path,) = after
    assert re.fullmatch(rf"{re.escape(path)}:\d", found.where)
    assert fixed(found, files) == files | after


@pytest.mark.process
@pytest.mark.parametrize(
    ("given", "text", "after"),
    [
        ("--config=conf.yaml", "dtype: float16  # for a 310P\n", "--config conf.yaml"),
        ("--config=conf.yaml", "dtype: bfloat16\n", "--config=conf.yaml --dtype float16"),
        ("--dtype bfloat16 --config=conf.yaml", "dtype: float16\n", "--dtype float16 --config=conf.yaml"),
    ],
)  # fmt: skip
def test_a_file_that_the_engine_ignores_is_read_if_it_has_the_repair(
    given: str, text: str, after: str, tmp_path: Path
) -> None:
    files = {"deploy.sh": f"{SERVE} {given}\n", "conf.yaml": text}
    dtype = {"dtype": "bfloat16"} if "--dtype" in given else {}
    launch = launched(files["deploy.sh"], given, **dtype)
    assert launch.server
    server = replace(launch.server, ignored_config="conf.yaml")
    launch = replace(launch, server=server, servers=(server,))
    facts = {"plan": launch, "npu": "310P3", "npus": 1}
    submission = read_submission(folder(tmp_path / "r", files))
    results = folders.judge(model(tmp_path / "w"), FITS, submission=submission, **facts)
    (found,) = (each for each in wrong(results, FITS) if each.edits)
    assert fixed(found, files)["deploy.sh"] == f"{SERVE} {after}\n"


PROGRAM = 'import os\n# --tensor-parallel-size\nwords = {}\nos.execvp("vllm", ["vllm", "serve", *words])\n'


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "where", "after"),
    [
        ('["--tensor-parallel-size", str(3)]', "serve.py:3", '["--tensor-parallel-size", "4"]'),
        ('[x for x in {"--tensor_parallel_size": os.environ["N"]}.items()]', "serve.py:3",
         '[x for x in {"--tensor_parallel_size": "4"}.items()]'),
        ('f"--tensor-parallel-size {3}".split()', "serve.py:3", ""),
        ("read()", "deploy.sh:2", ""),
    ],
)  # fmt: skip
def test_an_option_of_a_python_launcher_is_edited_there(
    words: str, where: str, after: str, tmp_path: Path
) -> None:
    script = '#!/bin/sh\nexec python3 "$(dirname "$0")/serve.py"\n'
    files = {"deploy.sh": script, "serve.py": PROGRAM.format(words)}
    submission = read_submission(folder(tmp_path / "r", files))
    launch = launched(script, "--tensor-parallel-size 3", tensor_parallel_size="3")
    assert launch.server is not None
    server = replace(launch.server, where="deploy.sh:2")
    launch = replace(launch, server=server, servers=(server,))
    results = folders.judge(model(tmp_path / "w"), FITS, plan=launch, npus=4, submission=submission)
    (found,) = wrong(results, FITS)
    assert found.where == where
    assert "serve.py" in found.fix
    wanted = files | ({"serve.py": PROGRAM.format(after)} if after else {})
    assert fixed(found, files) == wanted


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ('{"enable_kv_nz": true, "enable_cpu_binding": true}', '{"enable_cpu_binding": true}'),
        ('{"enable_kv_nz": true}', None),
    ],
)
def test_a_key_is_removed_from_its_object(given: str, after: str | None, tmp_path: Path) -> None:
    script = f"{SERVE} --additional-config '{given}' --port 8000\n"
    launch = launched(script, "", additional_config=given)
    assert launch.server is not None
    argv = ("/weights", "--additional-config", given, "--port", "8000")
    server = replace(launch.server, argv=argv)
    launch = replace(launch, server=server, servers=(server,))
    check = "plan/additional-config"
    found = wrong(folders.judge(model(tmp_path / "w"), check, plan=launch), check)[0]
    right = f" --additional-config '{after}'" if after else ""
    assert fixed(found, {"deploy.sh": script})["deploy.sh"] == f"{SERVE}{right} --port 8000\n"


@pytest.mark.parametrize(
    ("settings", "options", "after"),
    [
        ("a = 1\nenable_expert_parallel = true\n", {"enable_expert_parallel": ""}, "a = 1\n"),
        ("# tensor_parallel_size = 4\n[npu-adapter]\nnpus = 4\n", {"tensor_parallel_size": "3"},
         "# tensor_parallel_size = 4\ntensor_parallel_size = 4\n[npu-adapter]\nnpus = 4\n"),
        ("tensor_parallel_size = 3  # three\n", {"tensor_parallel_size": "3"},
         "tensor_parallel_size = 4  # three\n"),
        ("# enable_expert_parallel = true\n", {"enable_expert_parallel": ""},
         '# enable_expert_parallel = true\nenable_expert_parallel = "default"\n'),
        ('extra_args = ["--enable-expert-parallel", "--seed", "1"]\n', {"enable_expert_parallel": ""},
         'extra_args = ["--seed", "1"]\n'),
    ],
)  # fmt: skip
def test_adapter_toml_is_edited(
    settings: str, options: dict[str, str], after: str, tmp_path: Path
) -> None:
    launch = replace(plan(**options), settings=settings)
    check = EXPERTS if "enable_expert_parallel" in options else FITS
    (found,) = wrong(folders.judge(model(tmp_path / "w"), check, plan=launch, npus=4), check)
    assert fixed(found, {"adapter.toml": settings})["adapter.toml"] == after


def test_an_option_without_a_key_goes_into_extra_args() -> None:
    launch = replace(plan(), settings='extra_args = ["--seed", "1"]\n')
    repair = adapter_toml.passed(launch, "reasoning-parser", "qwen3")
    words = '["--seed", "1", "--reasoning-parser", "qwen3"]'
    assert repair.order == f"write extra_args = {words} in adapter.toml:1"
    assert [edit.new for edit in repair.edits] == [words]


def test_the_keys_are_those_of_the_reference_adapter() -> None:
    others = {*of_the_adapter.GROUP_KEYS, adapter_toml.EXTRA}
    assert of_the_adapter.KEYS.keys() - others == adapter_toml.KEYS


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({**QWEN3, "_name_or_path": "Qwen/Qwen3-8B"},
         "hf download Qwen/Qwen3-8B chat_template.jinja tokenizer_config.json --local-dir ."),
        ({**QWEN3, "_name_or_path": "/data/Qwen3-8B"}, "of the instruction-tuned model"),
        (QWEN3, "of the instruction-tuned model"),
    ],
)  # fmt: skip
def test_a_missing_template_comes_from_the_model_that_config_json_names(
    config: dict[str, object], says: str, tmp_path: Path
) -> None:
    weights = model(tmp_path / "w", config)
    write_json(weights / "tokenizer_config.json", {"eos_token": "x"})
    (found,) = wrong(folders.judge(weights, "weights/tokenizer"), "weights/tokenizer")
    assert says in (found.command or found.fix)
