"""plan/flags: what fails, what warns and what passes; test_vllm_parsers.py has the parsers' own answers."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.core.records import CheckResult, Level, Outcome
from healthcheck.engines.vllm import VLLM
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.checks.flags import flags
from healthcheck.stages.plan.records import (
    Api,
    LaunchPlan,
    Origin,
    PortSource,
    ServerCommand,
    ShellRun,
)
from healthcheck.stages.plan.servers.options import vllm_grammar
from healthcheck.stages.plan.vllm_cli.catalogue import Kind, catalogue, nearest, versions
from healthcheck.stages.plan.vllm_cli.judgement import judge_flags


def command(*argv: str, **options: str) -> ServerCommand:
    return ServerCommand(
        engine=VLLM, api=Api.OPENAI_CHAT, argv=argv, command=shlex.join(("vllm", "serve", *argv)), env={}, cwd="/r",
        foreground=True, model="/w", port=8000, port_source=PortSource(kind=Origin.OPTION, text="--port"), host=None, where="deploy.sh:3", options=options,
    )  # fmt: skip


def judged(*argv: str, **options: str) -> CheckResult:
    return flags.judge(plan_of(command(*argv, **options)))


def plan_of(server: ServerCommand, stack: str = "") -> LaunchPlan:
    run = ShellRun(
        shell="sh",
        exit_status=None,
        ended_by=EndedBy.SERVER,
        stdout="",
        stderr="",
        commands=(),
        servers=(server,),
    )
    return LaunchPlan(
        server=server, servers=(server,), commands=(), spaced=None, model_path="/w", spaced_model_path="/w w",
        root="/r", run=run, stack=stack,
    )  # fmt: skip


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "option", ["--compilation-config", "--kv-transfer-config", "--hf-overrides", "--max-num-seqs"]
)
@pytest.mark.parametrize("unit", ['"\\', '"', "1", "{", "\\"])
def test_a_value_of_a_hundred_kilobytes_is_not_judged(option: str, unit: str) -> None:
    value = unit * (120_000 // len(unit))
    result = judged("/w", option, value)
    assert (result.outcome, result.settled) == (Outcome.SKIP, False)
    (found,) = result.findings
    assert found.seen == f"{option} with a value of {len(value)} characters, which is not judged"
    assert judged("/w", option, value[:16_384]).outcome is Outcome.FAIL
    assert judged("/w", option, value, "--port", "x").outcome is Outcome.FAIL


def test_the_text_of_a_template_may_be_long() -> None:
    assert judged("/w", "--chat-template", "{{ x }}" * 10_000).outcome is Outcome.PASS


def test_the_older_entry_point_takes_the_option_beside_a_word():
    server = command("/srv/weights", "--model", "/elsewhere")
    line = "python3 -m vllm.entrypoints.openai.api_server /srv/weights --model /elsewhere"
    assert flags.judge(plan_of(replace(server, command=line))).outcome is Outcome.PASS


def test_the_nearest_catalogue():
    assert nearest("0.23.0").vllm == "0.23.0"
    assert nearest("0.25.1").vllm == "0.23.0"
    assert nearest("0.9.1").vllm == versions()[0]
    assert nearest("0.99.0").vllm == versions()[-1]


RIGHT = (
    "M --host 0.0.0.0 --port 8000",
    "M --tensor-parallel-size 4 --max-model-len 32k --gpu-memory-utilization 0.9 --trust-remote-code",
    "M --max_model_len 32768 --max-num-seqs=16 -tp 2 --no-enable-prefix-caching --enforce-eager",
    """M --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}' --additional-config '{"enable_cpu_binding": true}'""",
    "M --compilation-config.cudagraph_mode FULL_DECODE_ONLY -O3",
    "M --limit-mm-per-prompt.image 4 --limit-mm-per-prompt.video 1 --mm-processor-cache-gb 0",
    "M --quantization ascend --load-format netloader --block-size 128 --seed 1024",
    "M --attention-backend flash_attn",
    "M --attention-backend=auto",
    "M --attention-backend None",
    "M --quantization compressed-tensors --dtype bfloat16 --distributed-executor-backend mp",
    "M --enable-auto-tool-choice --tool-call-parser hermes --reasoning-parser qwen3",
    "M --reasoning-parser mine --reasoning-parser-plugin ./mine.py",
    """M --speculative-config '{"method": "mtp", "num_speculative_tokens": 1}' --enable-expert-parallel""",
    "M --chat-template ./template.jinja --chat-template-content-format openai --generation-config vllm",
    "M --middleware a.b --middleware c.d --seed 1 --seed 1",
    "--model M --port 8000",
    "M --max-num-batched-tokens 512 --max-model-len 2048",
    "M --max-num-batched-tokens 4096 --max-model-len 4096 --max-num-seqs 256 --no-enable-chunked-prefill",
    "M --max-model-len auto --async-scheduling",
    "M --served-model-name a b --port 8000",
)


@pytest.mark.parametrize("line", RIGHT)
def test_right_command_lines_pass(line: str):
    result = judged(*shlex.split(line))
    assert result.outcome is Outcome.PASS, result.findings


WRONG = (
    ("M --prot 8000", "--prot", "did you mean --port?"),
    ("M --tensor-paralel-size 2", "--tensor-paralel-size", "did you mean --tensor-parallel-size?"),
    ("M --swap-space 4", "--swap-space", "remove it"),
    ("M --rope-scaling {}", "--rope-scaling", "--hf-overrides"),
    (
        "M --guided-decoding-backend xgrammar",
        "--guided-decoding-backend",
        """--structured-outputs-config '{"backend": "xgrammar"}'""",
    ),
    (
        "M --speculative-model /x --num-speculative-tokens 5",
        "--speculative-model",
        """--speculative-config '{"model": "/x", "num_speculative_tokens": 5}'""",
    ),
    ("M --speculative-model /x", "--speculative-model", """--speculative-config '{"model": …}'"""),
    (
        "M --guided-decoding-backend --enforce-eager",
        "--guided-decoding-backend",
        """'{"backend": …}'""",
    ),
    ("M --rope-scaling.factor 4.0", "--rope-scaling.factor", """'{"rope_parameters": {…}}'"""),
    ("M --guided-decoding-backend 动态", "--guided-decoding-backend", "动态"),
    ("M --rope-theta=1000000", "--rope-theta", '{"rope_parameters": {"rope_theta": 1000000}}'),
    ("M --task generate", "--task", "--runner"),
    ("M --rope_scaling {}", "--rope_scaling", "--hf-overrides"),
    ("M --max-num 8", "may be", "in full"),
    ("M --gpu-memory-utilization 1.5", "1.5", "0.9"),
    ("M --gpu-memory-utilization 90%", "90%", "digits"),
    ("M --tensor-parallel-size 0", "0", "1"),
    ("M --max-num-seqs 0", "0", "1"),
    ("M --max-model-len 32.768", "32.768", "digits"),
    ("M --port eight", "eight", "digits"),
    ("M --dtype fp16", "fp16", "float16"),
    ("M --quantization w8a9", "w8a9", "take"),
    ("M --attention-backend ASCEND", "ASCEND", "--attention-backend"),
    ("M --attention-backend FLASHATTN", "FLASHATTN", "write FLASH_ATTN, if that was meant"),
    ("M --load-format safetensor", "safetensor", "safetensors"),
    ("M --additional-config {a:1}", "{a:1}", """write --additional-config '{"a": 1}'"""),
    ("""M --additional-config '{"a": 1'""", '{"a": 1', """write --additional-config '{"a": 1}'"""),
    ("M --additional-config true", "true", "single quotes"),
    (
        """M --compilation-config "{'mode': 3}" """,
        "{'mode': 3}",
        """write --compilation-config '{"mode": 3}'""",
    ),
    ("""M --compilation-config '{"cudagraf_mode": 1}'""", "cudagraf_mode", "cudagraph_mode"),
    ("M --compilation-config.cudagraf_mode 1", "cudagraf_mode", "cudagraph_mode"),
    (
        """M --compilation-config '{"cudagraph_mode": "FULL_DECODE"}'""",
        "FULL_DECODE",
        '"FULL_DECODE_ONLY" in place of',
    ),
    (
        "M --compilation-config.cudagraph_mode FULL_DECODE",
        "FULL_DECODE",
        '"FULL_DECODE_ONLY" in place of',
    ),
    (
        """M --speculative-config '{"method": "mtpp", "num_speculative_tokens": 1}'""",
        "mtpp",
        '"mtp" in place of "mtpp"',
    ),
    (
        """M --speculative-config '{"method": "mtp", "num_speculative_tokens": "one"}'""",
        "one",
        "a whole number in place",
    ),
    (
        """M --speculative-config '{"method": "mtp", "num_speculative_tokens": 0}'""",
        ": 0",
        "write 1 in place of 0",
    ),
    ("""M --speculative-config '{"methode": "mtp"}'""", "methode", "'method'"),
    (
        """M --compilation-config '{"pass_config": {"fuse_norm_quant": "maybe"}}'""",
        "maybe",
        "true or false in place",
    ),
    ("""M --compilation-config '{"cudagraph_capture_sizes": 8}'""", "8", "a list in place of 8"),
    ("M --compilation-config." + "x" * 9000 + " 1", "xxx", "take 'xxx"),
    ("""M --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1"}'""", "Mooncake", "kv_role"),
    ("M --port.number 8000", "--port.number", "--port"),
    ("M --enforce-eager true", "true", "--enforce-eager"),
    ("M --enable-prefix-caching=False", "False", "remove it"),
    ("M --port", "nothing", "the variable that --port takes"),
    ("M --max-model-len --port 8000", "nothing", "the variable that --max-model-len takes"),
    ("M --max-model-len '' --port 8000", "--max-model-len", "variable"),
    ("M '--port 8000'", "--port 8000", "quotes"),
    ("M ' ' --port 8000", "empty argument", "backslash"),
    ("M extra --port 8000", "extra", "remove it"),
    ("M --enable-auto-tool-choice", "alone", "--tool-call-parser"),
    ("M --enable-auto-tool-choice --tool-call-parser herms", "herms", "hermes"),
    ("M –port 8000", "–port", "write --port"),
    (
        "M --max-num-batched-tokens 64 --max-num-seqs 128",
        "--max-num-seqs 128",
        "write --max-num-batched-tokens 128",
    ),
    (
        "M --max-num-batched-tokens 512 --max-model-len 2048 --no-enable-chunked-prefill",
        "--max-model-len 2048",
        "2048",
    ),
)


@pytest.mark.parametrize(("line", "words", "fix"), WRONG)
def test_wrong_command_lines_fail(line: str, words: str, fix: str):
    result = judged(*shlex.split(line))
    assert result.outcome is Outcome.FAIL, result.findings
    found = next(found for found in result.findings if found.level is Level.FAIL)
    assert words in found.seen
    assert fix in found.fix
    assert found.where == "deploy.sh:3"


def test_what_only_another_release_takes_warns_and_names_it():
    result = judged("M", "--disable-frontend-multiprocessing")
    assert result.outcome is Outcome.WARN
    assert "vLLM 0.18.0 takes it" in result.findings[0].seen
    asked_for = plan_of(command("M", "--disable-frontend-multiprocessing"), stack="0.23.0")
    assert flags.judge(asked_for).outcome is Outcome.FAIL
    for option in ("--log-level INFO", "--disable-log-requests"):
        without_vllm_ascend = judged("M", *option.split())  # vLLM 0.33.0 takes them
        assert without_vllm_ascend.outcome is Outcome.FAIL
    newer = judged("M", "--calculate-kv-scales")
    assert newer.outcome is Outcome.PASS
    assert "vLLM 0.28.0 to 0.33.0 refuses" in newer.findings[0].seen
    chosen_newest = tuple(judge_flags(command("M", "--calculate-kv-scales"), "0.30.0rc2"))
    assert chosen_newest[0].level is Level.FAIL
    older_row = plan_of(command("M", "--disable-frontend-multiprocessing"), stack="0.18.0")
    assert flags.judge(older_row).outcome is Outcome.PASS
    before_the_catalogues = plan_of(command("M", "--swap-space", "4"), stack="0.9.1")
    assert flags.judge(before_the_catalogues).outcome is Outcome.WARN


@pytest.mark.parametrize(
    ("release", "option", "outcome", "words"),
    [
        (
            "0.22.1rc1",
            "--disable-frontend-multiprocessing",
            Outcome.PASS,
            "vLLM 0.22.1 is not catalogued: judged by the options of 0.18.0 and 0.23.0",
        ),
        (
            "0.22.1rc1",
            "--numa-bind",
            Outcome.WARN,
            "vLLM 0.23.0 takes it, and vLLM 0.22.1 is not catalogued",
        ),
        ("0.18.0", "--numa-bind", Outcome.FAIL, "which it does not have"),
        ("0.22.1rc1", "--numa-bindd", Outcome.FAIL, "which it does not have"),
        ("0.25.1rc1", "--swap-space=4", Outcome.FAIL, "which it does not have"),
        ("0.9.1", "--swap-space=4", Outcome.WARN, "perhaps"),
        (
            "0.9.1",
            "--port=8000",
            Outcome.WARN,
            "vLLM 0.9.1 is not catalogued: judged by the options of 0.18.0",
        ),
        ("0.23.0", "--port=8000", Outcome.PASS, ""),
    ],
)
def test_a_release_without_a_catalogue_is_judged_by_those_around_it(
    release, option, outcome, words
):
    result = flags.judge(plan_of(command("M", option), stack=release))
    assert result.outcome is outcome
    said = "".join(finding.seen for finding in result.findings)
    assert words in said
    assert ("not catalogued" in said) == (release not in {"0.18.0", "0.23.0"})


def test_vllm_ascend_adds_formats_of_the_cache_in_some_rows():
    cache = command("M", "--kv-cache-dtype", "int8")
    assert flags.judge(plan_of(cache, stack="0.29.0rc1")).outcome is Outcome.PASS
    assert flags.judge(plan_of(cache, stack="0.23.0")).outcome is Outcome.FAIL
    unknown_row = flags.judge(plan_of(cache))
    assert unknown_row.outcome is Outcome.WARN
    assert "vLLM 0.29.0" in unknown_row.findings[0].seen


def test_an_option_given_twice():
    assert judged("M", "--seed", "1", "--seed=1").outcome is Outcome.PASS
    twice = judged("M", "--dtype", "float16", "--dtype=bfloat16")
    assert twice.outcome is Outcome.WARN
    assert "the last one" in twice.findings[0].seen
    assert judged("M", "--trust-remote-code", "--no-trust-remote-code").outcome is Outcome.WARN
    assert (
        judged("M", "--limit-mm-per-prompt.image", "1", "--limit-mm-per-prompt.video", "1").outcome
        is Outcome.PASS
    )


def test_options_of_a_configuration_file_are_judged_too():
    options = {"port": "8000", "swap-space": "4", "max-model-len": "32k"}
    result = judged("M", "--config", "serve.yaml", "--max-model-len", "4096", **options)
    assert result.outcome is Outcome.FAIL
    assert [
        "--swap-space" in found.seen and "--config file" in found.seen for found in result.findings
    ] == [True]
    assert (
        judged("M", "--config", "serve.yaml", port="8000", **{"enforce-eager": ""}).outcome
        is Outcome.PASS
    )


def test_another_engine_is_not_judged():
    server = command("M")
    run = ShellRun(
        shell="sh",
        exit_status=0,
        ended_by=EndedBy.EXIT,
        stdout="",
        stderr="",
        commands=(),
        servers=(),
    )
    plan = LaunchPlan(
        server=None,
        servers=(),
        commands=(),
        spaced=None,
        model_path="",
        spaced_model_path="",
        root="",
        run=run,
    )
    assert flags.judge(plan).outcome is Outcome.SKIP
    assert server.engine is VLLM


WORDS = ("M", "--port", "8000", "--port=1", "--", "-", "-1", "", " ", "-O", "-O3", "-tp", "--compilation-config.mode",
         "--compilation-config", "{}", "{", "--served-model-name", "--no-", "--x.y", "=", "--=", "-.5", "--max", "é")  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = [
    (option.name, key) for option in catalogue(versions()[-1]).options for key in option.fields
]


@given(st.sampled_from(FIELDS), JSON)
def test_any_value_of_a_field_is_judged(field: tuple[str, str], value: object):
    option, key = field
    result = judged("M", option, json.dumps({key: value}))
    assert result.outcome in {Outcome.PASS, Outcome.WARN, Outcome.FAIL}, result.because


def test_a_deep_key_is_judged():
    assert (
        judged("M", "--compilation-config.cudagraph_mode" + ".a" * 5000, "1").outcome
        is Outcome.FAIL
    )


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=12)), max_size=12))
def test_any_words_are_judged(words: list[str]):
    result = judged(*words)
    assert result.outcome in {Outcome.PASS, Outcome.WARN, Outcome.FAIL}, result.because


def test_the_grammar_of_vllm_knows_the_options_of_every_catalogued_release() -> None:
    grammar = vllm_grammar()
    for version in versions():
        for option in catalogue(version).options:
            names = {flag.removeprefix("--") for flag in option.flags if flag.startswith("--")}
            kind = (
                grammar.switches
                if option.kind is Kind.SWITCH
                else grammar.many
                if option.nargs == "+"
                else grammar.valued
            )
            assert names <= kind, (version, option.name)
