"""What belongs to the last error: its own message, what CANN adds to it, and its frames; and what only stands beside it."""

from __future__ import annotations

import pytest

from healthcheck.stages.service.catalogue import Severity, catalogue
from tests.service.test_evidence import APART, HEADING, WRAPPER, diagnosed, said, traceback

CORE = "(EngineCore pid=9) ERROR 11-21 08:50:01 [core.py:1] "
FIRST = "(Worker_TP0 pid=7) ERROR 11-21 08:49:14 [w.py:1] "
SECOND = "(Worker_TP1 pid=8) ERROR 11-21 08:49:14 [w.py:1] "
RUNNER = "/srv/vllm/v1/worker/gpu_model_runner.py"
CANN = (
    "[ERROR] 2025-01-01-00:00:00 (PID:1, Device:0, RankID:-1) ERR00100 PTA call acl api failed",
    "[Error]: The context is empty.",
    "        Check whether acl.rt.set_context or acl.rt.set_device is called.",
    "EE1001: [PID: 1] The argument is invalid.Reason: rtGetDevMsg execute failed, reason=[context pointer null]",
    "        Solution: 1.Check the input parameter range of the function.",
    "        TraceBack (most recent call last):",
    "        [Init][Version]init soc version failed, ret = 507008[FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]",
)
CONTEXT = "RuntimeError: GetDevice:torch_npu NPU function error: aclrtGetCurrentContext(&device), error code is 107002"


def raised(
    error: str, path: str = RUNNER, *, code: str = "frobnicate()", prefix: str = ""
) -> tuple[str, ...]:
    return tuple(
        prefix + line for line in (HEADING, f'  File "{path}", line 7, in y', f"    {code}", error)
    )


def cause_of(*lines: str) -> str:
    return said(diagnosed(*APART, *lines, *APART))[0]


@pytest.mark.parametrize(
    ("error", "beside", "cause"),
    [
        (
            (CORE + "KeyError: 'gate'",),
            "(APIServer pid=1) ERROR 11-21 08:50:01 [usage.py:1] usage stats: No space left on device",
            "",
        ),
        (
            (FIRST + "KeyError: 'gate'",),
            SECOND + "ModuleNotFoundError: No module named 'optional_plugin'",
            "",
        ),
        (
            (FIRST + "OSError: No space left on device",),
            SECOND + "OSError: No space left on device: x",
            "disk-full",
        ),
        (
            raised(
                "TypeError: 'NoneType' object is not subscriptable",
                "/srv/vllm/v1/spec_decode/eagle_proposer.py",
            ),
            "Warning: NPU warning, error code is 107002[Error]:",
            "part-speculative",
        ),
        (
            raised("KeyError: 'gate'"),
            "aclrtSynchronizeDevice failed, error code is 507015",
            "part-worker",
        ),
        (
            raised("KeyError: 'gate'", prefix=CORE),
            "(APIServer pid=1) ERROR 11-21 08:50:01 [usage.py:1] usage stats: No space left on device",
            "part-worker",
        ),
        (
            raised("KeyError: 'gate'", prefix=FIRST),
            SECOND + "ModuleNotFoundError: No module named 'optional_plugin'",
            "part-worker",
        ),
        (
            raised("strange.Failure: no idea", "/srv/own/main.py", prefix=FIRST),
            SECOND + "ModuleNotFoundError: No module named 'optional_plugin'",
            "",
        ),
        (
            raised("RuntimeError: no idea", "/srv/own/main.py"),
            "ModuleNotFoundError: No module named 'optional_plugin'",
            "",
        ),
        (
            raised("RuntimeError: NPU error, strange", "/srv/own/main.py", prefix=FIRST),
            SECOND + CANN[-1],
            "",
        ),
    ],
)
def test_what_stands_beside_an_exception_is_not_its_cause(error, beside, cause):
    assert cause_of(*error, beside) == cause


@pytest.mark.parametrize("prefix", [FIRST, SECOND, CORE])
def test_a_traceback_that_was_pasted_without_its_indentation_ends_at_its_exception(prefix):
    whole = raised(CONTEXT, code="yield", prefix=prefix)
    lines = [prefix + line.removeprefix(prefix).strip() for line in whole]
    assert cause_of(*lines, *traceback(WRAPPER)) == "acl-context"


def test_an_exception_without_a_name_is_the_rest_of_its_record():
    refused = (
        "Error is in the aclnnMatmul",
        "the biasOptional's dtype should be [DT_FLOAT], actual is [DT_BFLOAT16]",
    )
    shown = diagnosed(*APART, *raised(refused[0], prefix=FIRST), FIRST + refused[1], *APART).block
    assert shown[-1].text == refused[1]


@pytest.mark.parametrize("prefix", ["", FIRST])
def test_what_cann_adds_to_its_own_exception_may_be_the_cause(prefix):
    added = tuple(prefix + line for line in CANN)
    assert cause_of(*raised(CONTEXT, prefix=prefix), *added) == "start-device-507033"
    assert cause_of(*raised(CONTEXT, prefix=prefix)[1:], *added) == "start-device-507033"
    assert cause_of(*raised(CONTEXT, prefix=prefix)) == "acl-context"
    assert cause_of(*raised("KeyError: 'gate'", prefix=prefix), *added) == "part-worker"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (
            raised(
                "RuntimeError: The size of tensor a (7) must match the size of tensor b (0)",
                "/srv/vllm/v1/worker/gpu_input_batch.py",
                code="self.lora_id_to_lora_request: dict[int, LoRARequest] = {}",
            ),
            "part-worker",
        ),
        (
            raised(
                "KeyError: 'lora_path'",
                "/srv/own/adapter/serve.py",
                code='lora_path = settings["path"]',
            ),
            "",
        ),
        (raised("KeyError: 'tokenizer'", "main.py"), ""),
        (
            raised(
                "AttributeError: 'EagleProposer' object has no attribute 'x'",
                "/srv/own/adapter/vllm.py",
            ),
            "",
        ),
        (
            raised(
                "FileFetchFailed: could not fetch the tokenizer from the mirror in the given time",
                "/srv/vllm/x.py",
            ),
            "",
        ),
        (
            raised(
                "TypeError: OutputProcessor.__init__() got 'x' and wants y", "/srv/vllm/v1/x.py"
            ),
            "",
        ),
        (
            raised(
                "TypeError: Qwen3VLProcessor.__init__() got 'x' and wants y", "/srv/vllm/v1/x.py"
            ),
            "part-multimodal",
        ),
        (
            raised("KeyError: 'gate'", "/usr/lib/python3.11/site-packages/vllm/lora/models.py"),
            "part-lora",
        ),
        (
            (
                *raised("", "/srv/vllm/plugins/__init__.py")[:-1],
                '  File "/usr/lib/python3.11/json/decoder.py", line 7, in decode',
                "    frobnicate()",
                "TypeError: 'NoneType' object is not callable",
            ),
            "part-plugin",
        ),
        (
            (
                *raised("", "/srv/own/adapter/main.py")[:-1],
                '  File "/usr/lib/python3.11/importlib/metadata/__init__.py", line 7, in entry_points',
                "    frobnicate()",
                "TypeError: 'NoneType' object is not callable",
            ),
            "",
        ),
    ],
)
def test_a_part_is_told_by_quoted_names_and_by_frames_of_packages(log, cause):
    assert cause_of(*log) == cause


def test_no_pattern_of_a_part_is_a_bare_word():
    words = (
        "RuntimeError: the tokenizer, lora_path, draft_model, triton, xgrammar, sampler, pooler, mm_kwargs, quantizer, "
        "awq, nixl, connector, moe_layer, attn_mask, flash_attention, sinks, cudagraph, kv_transfer and logits_processor"
    )
    hits = [
        each.id
        for each in catalogue().of(Severity.PART)
        if any(found.search(words) for found in each.patterns)
    ]
    assert hits == []


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ("The wheel came off the axle", True),
        ("Worker 3 died before it was ready with exit code 137", False),
        ("The engine did not answer any more", False),
        ("The second rank timed out at the barrier", False),
        ("The queue of requests was closed", False),
    ],
)
def test_what_the_code_raises_is_told_as_such_and_a_consequence_is_not(sentence, stated):
    found = diagnosed(
        *APART,
        *raised(f"RuntimeError: {sentence}", "/srv/vllm/x.py", code="raise RuntimeError("),
        *APART,
    )
    told = f"The program ended itself, and says: “{sentence}”."
    assert (str(found.cause.cause) if found.cause else "") == (told if stated else "")


def test_a_check_that_refuses_is_told_as_such():
    found = diagnosed(*raised("ValueError: --x 3 must be smaller than --y 2."))
    assert found.cause
    assert str(found.cause.cause).startswith(
        "A check refused to go on, for the reason “--x 3 must be"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ('  File "/data/x.txt", line 3 of the corpus', "Done: everything is fine"),
        ('  File "/data/x.py", line 3, in load', "    run()", "Done: everything is fine"),
    ],
)
def test_a_line_that_looks_like_a_frame_begins_no_error(lines):
    found = diagnosed(*APART, *lines)
    assert (found.block, said(found)) == ((), ("", (), ""))
