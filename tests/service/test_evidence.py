"""What a whole log proves: a cause, possible causes, or no more than what its last error says."""

from __future__ import annotations

import io

import pytest

from healthcheck.stages.service.diagnosis import Diagnosis, diagnose_stream

FRAME = '  File "/srv/vllm/x.py", line 7, in y'
HEADING = "Traceback (most recent call last):"
OOM = "RuntimeError: NPU out of memory. Tried to allocate 11.50 GiB (NPU 15; 60.97 GiB total capacity;"
SHAPES = "RuntimeError: The size of tensor a (7968) must match the size of tensor b (0) at non-singleton dimension 0"
STARTED = "(APIServer pid=1) INFO:     Application startup complete."
WRAPPER = (
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
)
APART = tuple(
    f"(APIServer pid=1) INFO 11-21 08:49:{second} [x.py:1] loading" for second in range(10, 30)
)


def traceback(error: str, prefix: str = "") -> tuple[str, ...]:
    return tuple(prefix + line for line in (HEADING, FRAME, "    frobnicate()", error))


def diagnosed(*lines: str) -> Diagnosis:
    return diagnose_stream(io.BytesIO("\n".join(lines).encode()))


def said(found: Diagnosis) -> tuple[str, tuple[str, ...], str]:
    """The ids of the cause, the candidates and the kind."""
    return (
        found.cause.failure.id if found.cause else "",
        tuple(hit.failure.id for hit in found.candidates),
        found.kind.failure.id if found.kind else "",
    )


def test_the_cause_is_read_from_the_last_error():
    assert said(diagnosed(*APART, *traceback(OOM), *APART)) == ("npu-oom", (), "")


def test_an_error_that_may_have_been_survived_is_not_the_cause_of_a_later_one():
    survived = traceback(
        "ImportError: ascend_transport.so: cannot open shared object file: No such file or directory"
    )
    found = diagnosed(*survived, *APART, *traceback(SHAPES))
    assert said(found) == ("", (), "kind-tensor-shapes")
    assert [hit.failure.id for hit in found.others] == ["library-missing"]


def test_a_fatal_error_beside_a_later_one_that_does_not_follow_from_it_is_a_possible_cause():
    found = diagnosed(*traceback(OOM), *APART, *traceback(SHAPES))
    assert said(found) == ("", ("npu-oom",), "kind-tensor-shapes")
    assert found.named is None
    assert found.block[-1].text == SHAPES


def test_two_causes_in_two_places_are_both_possible():
    port = "OSError: [Errno 98] Address already in use"
    assert said(diagnosed(*traceback(port), *APART, *traceback(OOM))) == (
        "",
        ("port-8000-busy", "npu-oom"),
        "",
    )


def test_the_error_itself_is_believed_before_the_lines_around_it():
    port = "OSError: [Errno 98] Address already in use"
    assert said(diagnosed(port, *traceback(OOM))) == ("npu-oom", (), "")
    assert said(diagnosed(OOM, *traceback("strange.Failure: no idea"))) == ("npu-oom", (), "")


@pytest.mark.parametrize(
    "consequence",
    [
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/4 clients joined.",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "NotImplementedError: Cannot copy out of meta tensor; no data!",
        "RuntimeError: synchronize NPU function error: x, error code is 507048",
        WRAPPER,
    ],
)
def test_the_only_cause_explains_an_error_that_follows_from_others(consequence):
    rank = "(Worker_TP0 pid=7) ERROR 11-21 08:49:14 [w.py:1] "
    assert said(diagnosed(*traceback(OOM, rank), *APART, *traceback(consequence))) == (
        "npu-oom",
        (),
        "",
    )


def test_what_the_server_survived_is_no_cause():
    assert said(diagnosed(*traceback(OOM), STARTED, *APART, *traceback(SHAPES))) == (
        "",
        (),
        "kind-tensor-shapes",
    )
    found = diagnosed(*traceback(OOM), *APART, STARTED, *APART)
    assert said(found) == ("", (), "")
    assert [hit.failure.id for hit in found.others] == ["npu-oom"]


def test_an_answered_request_is_a_success_as_a_start_is():
    answered = (
        '(APIServer pid=1) INFO:     127.0.0.1:40000 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    )
    assert said(diagnosed(*traceback(OOM), answered)) == ("", (), "")


def test_a_failure_after_the_start_is_found_whatever_was_survived():
    found = diagnosed(*traceback(OOM), STARTED, *APART, *traceback(OOM))
    assert said(found) == ("npu-oom", (), "")
    assert found.cause
    assert found.cause.lines[0].number == 29


def test_lines_of_processes_that_write_at_the_same_time_are_told_apart():
    first = traceback(OOM, "(Worker_TP0 pid=7) ERROR 11-21 08:49:14 [w.py:1] ")
    second = traceback(OOM, "(Worker_TP1 pid=8) ERROR 11-21 08:49:14 [w.py:1] ")
    mixed = [line for pair in zip(first, second, strict=True) for line in pair]
    found = diagnosed(*mixed, *traceback(WRAPPER))
    assert said(found) == ("npu-oom", (), "")
    assert [line.text for line in found.block] == list(traceback(OOM))


def test_of_exceptions_that_led_to_each_other_the_first_is_told():
    joint = "The above exception was the direct cause of the following exception:"
    found = diagnosed(*traceback(SHAPES), "", joint, "", *traceback("strange.Failure: no idea"))
    assert said(found) == ("", (), "kind-tensor-shapes")


def test_of_an_exception_while_another_was_handled_the_last_is_told():
    joint = "During handling of the above exception, another exception occurred:"
    found = diagnosed(*traceback("KeyError: 'gate'"), "", joint, "", *traceback(SHAPES))
    assert said(found) == ("", (), "kind-tensor-shapes")


def test_the_cause_may_be_in_any_exception_of_a_chain():
    joint = "During handling of the above exception, another exception occurred:"
    assert said(diagnosed(*traceback(OOM), "", joint, "", *traceback(SHAPES))) == (
        "npu-oom",
        (),
        "",
    )


@pytest.mark.parametrize(
    "end",
    [
        (
            "Exception ignored in: <function Engine.__del__ at 0x7f0>",
            *traceback("TypeError: 'NoneType' is not callable"),
        ),
        (
            HEADING,
            '  File "/usr/lib/python3.11/multiprocessing/resource_tracker.py", line 239, in main',
            "    cache[rtype].remove(name)",
            "KeyError: '/psm_1234'",
        ),
    ],
)
def test_a_traceback_of_tidying_up_is_not_the_last_error(end):
    assert said(diagnosed(*traceback(SHAPES), *end)) == ("", (), "kind-tensor-shapes")


def test_a_line_at_the_level_error_is_an_error_without_any_telling_word():
    line = "(Worker pid=1) ERROR 11-21 08:49:14 [w.py:1] the moon is in the wrong place"
    assert [each.text for each in diagnosed("all is well", line).block] == [
        "the moon is in the wrong place"
    ]


def test_without_an_error_the_last_lines_are_given():
    found = diagnosed(*(f"step {number}" for number in range(20)))
    assert found.block == ()
    assert [line.text for line in found.end] == [f"step {number}" for number in range(12, 20)]


def test_the_prefix_of_docker_compose_hides_nothing():
    assert said(diagnosed(*traceback(OOM, "vllm-1  | (Worker pid=3) "))) == ("npu-oom", (), "")


def test_what_other_faults_print_too_is_no_cause():
    for error in (
        "TimeoutError: [Errno 110] Connection timed out",
        "RuntimeError: NPU function error: x, error code is 507048",
        "NPU function error: aclrtSynchronizeStream, error code is 507011",
    ):
        found = diagnosed(*APART, *traceback(error), *APART)
        assert (found.cause, found.candidates) == (None, ()), error
        assert found.kind, error


def test_of_two_symptoms_the_one_that_is_said_last_is_named():
    full = "OSError: [Errno 28] No space left on device"
    module = "ModuleNotFoundError: No module named 'frobnicate'"
    stamp = "(Worker pid=9) ERROR 11-21 08:50:01 [x.py:1] "
    assert said(diagnosed(stamp + module, stamp + full))[0] == "disk-full"
    assert said(diagnosed(stamp + full, stamp + module))[0] == "python-module-missing"


def test_a_consequence_is_named_only_where_nothing_else_is_said():
    kernel = "RuntimeError: call aclnnInplaceZero failed, error code is 561103"
    parsed = "EZ9999: [PID: 1] Parse dynamic kernel config fail."
    fault = "RuntimeError: NPU function error: aclrtSynchronizeStream, error code is 507011"
    assert said(diagnosed(HEADING, FRAME, kernel, parsed, fault))[0] == "op-binary-missing"
    assert said(diagnosed(HEADING, FRAME, fault))[2] == "device-fault"


@pytest.mark.parametrize(
    ("error", "stated"),
    [
        ("ValueError: --x 3 must be smaller than --y 2.", "--x 3 must be smaller than --y 2"),
        (
            "NotImplementedError: Adapters of this sort are not supported.",
            "Adapters of this sort are not supported",
        ),
        (
            "RuntimeError: Worker failed with error 'caches of uint8 are not supported here.', please check the stack trace above",
            "caches of uint8 are not supported here",
        ),
        ("ValueError: the shape of the tensor must be (3, 4).", ""),
        ("AssertionError", ""),
        ("RuntimeError: two things must agree, and they do not.", ""),
    ],
)
def test_the_sentence_of_a_check_is_the_cause_and_one_about_the_programs_state_is_not(
    error, stated
):
    found = diagnosed(*APART, *traceback(error), *APART)
    assert (found.cause.stated if found.cause else "") == stated
    assert bool(found.cause) == bool(stated)


def test_the_sentence_beside_a_code_of_cann_is_the_cause():
    tiling = traceback(
        "RuntimeError: x NPU function error: call aclnnThing failed, error code is 561002"
    )
    assert said(diagnosed(*tiling)) == ("op-tiling", (), "")
    reason = "E89999[PID: 7] 2025-11-06-11:21:05.612.749 (E89999):  the size of a head must be 64 or 128.[FUNC:F][LINE:1]"
    found = diagnosed(*tiling, reason)
    assert found.cause
    assert found.cause.stated == "the size of a head must be 64 or 128."


def test_a_sentence_beside_a_cause_elsewhere_proves_nothing():
    found = diagnosed(
        *traceback(OOM), *APART, *traceback("ValueError: --x 3 must be smaller than --y 2.")
    )
    assert said(found) == ("", ("npu-oom",), "kind-refused")


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        (
            "Please lower max_num_seqs to at most 969 or use more memory.",
            "Please lower max_num_seqs to at most 969 or use more memory.",
        ),
        ("Please check the logs for more details.", ""),
        ("If you want to get the accurate stacktrace, please set ASCEND_LAUNCH_BLOCKING=1.", ""),
    ],
)
def test_what_the_log_advises_is_kept(line, advice):
    found = diagnosed(
        *traceback("RuntimeError: NPU out of memory. Tried to allocate 1 GiB. " + line)
    )
    assert found.cause
    assert found.cause.advice == advice


LIBRARY = '  File "/opt/torch/nn/modules/module.py", line 1736, in _call_impl'
ATTENTION = '  File "/srv/vllm_ascend/attention/mla_v1.py", line 880, in forward'
LOADER = '  File "/srv/vllm/model_executor/models/qwen2.py", line 371, in load_weights'
STRANGE = "TypeError: 'NoneType' object is not callable"


def traced(*frames: str, error: str = STRANGE) -> tuple[str, ...]:
    return (HEADING, *(line for frame in frames for line in (frame, "    frobnicate()")), error)


@pytest.mark.parametrize(
    ("log", "part", "quoted"),
    [
        (traced(LOADER, ATTENTION, LIBRARY), "part-attention", (ATTENTION, STRANGE)),
        (traced(ATTENTION, LOADER, LIBRARY), "part-weights", (LOADER, STRANGE)),
        (
            traced(
                ATTENTION,
                error="AttributeError: 'EagleProposer' object has no attribute 'positions'",
            ),
            "part-speculative",
            ("AttributeError: 'EagleProposer' object has no attribute 'positions'",),
        ),
        (
            traced(
                LIBRARY,
                error="RuntimeError: Worker failed with error 'name 'LoRAManager' is not defined'",
            ),
            "",
            (),
        ),
        (traced(LIBRARY), "", ()),
        (traced(ATTENTION, error="TimeoutError: the other rank did not answer"), "", ()),
    ],
)
def test_the_part_of_the_program_that_raised_the_last_error_is_the_cause(log, part, quoted):
    """Its frames tell the part, the innermost first; an error that follows from others tells none."""
    found = diagnosed(*APART, *log, *APART).cause
    assert (found.failure.id if found else "") == part
    assert (tuple(line.text for line in found.lines) if found else ()) == quoted
    assert not found or (found.stated == log[-1] and log[-1] in str(found.cause))


def test_a_part_is_no_cause_beside_a_known_one_elsewhere():
    found = diagnosed(*traceback(OOM), *APART, *traced(ATTENTION))
    assert said(found) == ("", ("npu-oom",), "kind-python")


def test_the_frames_of_another_process_tell_nothing():
    first, second = (
        "(Worker_TP0 pid=7) ERROR 11-21 08:49:14 [w.py:1] ",
        "(Worker_TP1 pid=8) ERROR 11-21 08:49:14 [w.py:1] ",
    )
    log = [
        second + LOADER,
        *(first + line for line in traced(LIBRARY)),
        second + "    frobnicate()",
    ]
    assert said(diagnosed(*log)) == ("", (), "kind-python")


@pytest.mark.parametrize(
    ("code", "error", "stated"),
    [
        (
            'raise RuntimeError("The wheel came off the axle")',
            "RuntimeError: The wheel came off the axle",
            True,
        ),
        ("raise x.WheelError(", "x.WheelError: The wheel came off the axle", True),
        (
            'assert wheel, "The wheel came off the axle"',
            "AssertionError: The wheel came off the axle",
            True,
        ),
        ("turn(wheel)", "RuntimeError: The wheel came off the axle", False),
        ("raise RuntimeError(str(e)) from e", "RuntimeError: The wheel came off the axle", False),
        ("raise OtherError(", "RuntimeError: The wheel came off the axle", False),
        ('raise RuntimeError("Executor failed.")', "RuntimeError: Executor failed.", False),
        ("raise RuntimeError(", "RuntimeError: CUDA error: a wheel came off", False),
    ],
)
def test_what_the_code_raises_on_purpose_is_the_cause_in_its_own_words(code, error, stated):
    found = diagnosed(*APART, HEADING, FRAME, "    " + code, error, *APART)
    assert (found.cause.stated if found.cause else "") == (
        "The wheel came off the axle" if stated else ""
    )


def test_a_module_that_an_earlier_process_missed_is_no_cause_of_a_later_error():
    missing = "ModuleNotFoundError: No module named 'frobnicate'"
    assert said(diagnosed(*APART, *traceback(missing), *APART)) == ("python-module-missing", (), "")
    assert said(diagnosed(*traceback(missing), *APART, *traceback(SHAPES))) == (
        "",
        (),
        "kind-tensor-shapes",
    )


def test_the_kernel_that_failed_is_named_before_the_code():
    code = "RuntimeError: ACL stream synchronize failed, error code:507035"
    kernel = "Aicore kernel execute failed, device_id=0, fault kernel_name=fused_gate_kernel_46"
    assert said(diagnosed(*traceback(code), kernel)) == ("kernel-crashed", (), "")
    assert said(diagnosed(*traceback(code))) == ("vector-core-exception", (), "")
    assert said(diagnosed(*traceback(OOM), *APART, *traceback(code), kernel))[0] == "npu-oom"


def test_a_traceback_whose_beginning_was_cut_off_is_one_and_frames_without_an_exception_are_none():
    cut = traced(LOADER, ATTENTION, LIBRARY)[1:]
    assert said(diagnosed(*cut, *traceback(WRAPPER))) == ("part-attention", (), "")
    assert said(diagnosed(*cut[:-1], "all is well", *traceback(SHAPES))) == (
        "",
        (),
        "kind-tensor-shapes",
    )


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (
            "Failed to import Triton kernels. Error: cannot import name 'constexpr_function' from 'triton.runtime.jit'",
            "kind-import",
        ),
        (
            "Flash Attention is not supported here, falling back to another backend",
            "kind-not-supported",
        ),
    ],
)
def test_a_line_that_no_exception_wrote_is_no_cause(line, kind):
    """Such lines are said of what the program went on without."""
    stamp = "(EngineCore pid=9) ERROR 06-16 02:46:27 [config.py:29] "
    assert said(diagnosed(*APART, stamp + line, *APART)) == ("", (), kind)


TOLD = "(EngineCore pid=9) INFO 11-28 00:27:22 [core.py:1454] [shutdown] EngineCore: trigger received signal=SIGTERM"
DEAD = (
    "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the "
    "root cause."
)


def test_the_line_by_which_a_server_was_told_to_stop_goes_before_the_error_that_follows():
    found = diagnosed(
        STARTED,
        TOLD,
        *APART,
        *traceback(DEAD, "(APIServer pid=1) ERROR 11-28 00:27:27 [async_llm.py:906] "),
    )
    assert said(found) == ("told-to-stop", (), "")
    assert [line.text for line in found.telling] == [
        "[shutdown] EngineCore: trigger received signal=SIGTERM"
    ]
    assert said(diagnosed(STARTED, TOLD, *APART)) == ("told-to-stop", (), "")


def test_an_api_server_that_fails_stops_its_engine_which_is_no_cause():
    assert said(diagnosed(*traceback(OOM), TOLD)) == ("npu-oom", (), "")
    assert said(diagnosed(TOLD, *traceback(SHAPES))) == ("", (), "kind-tensor-shapes")
    assert said(diagnosed(*traceback(WRAPPER), *APART, TOLD)) == ("", (), "")


def test_a_server_that_is_told_to_stop_while_it_loads():
    assert said(diagnosed(*APART, *traceback("KeyboardInterrupt: terminated"))) == (
        "told-to-stop-loading",
        (),
        "",
    )
    assert (
        said(diagnosed(*traceback(OOM), *APART, *traceback("KeyboardInterrupt: terminated")))[0]
        == "npu-oom"
    )


def test_the_log_s_advice_to_force_a_longer_context_is_not_repeated():
    found = diagnosed(
        "Value error, User-specified max_model_len (9999) is greater than the derived max_model_len "
        "(max_position_embeddings=2048). To allow overriding this maximum, set the env var "
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1. VLLM_ALLOW_LONG_MAX_MODEL_LEN must be used with extreme caution."
    )
    assert said(found) == ("context-too-long", (), "")
    assert found.cause.advice == ""
