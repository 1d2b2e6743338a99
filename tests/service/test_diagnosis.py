"""From a log to its cause: the catalogue against its own examples, and the reader against any bytes."""

from __future__ import annotations

import io
import re
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if sys.version_info >= (3, 11):
    from re import _constants, _parser
else:
    import sre_constants as _constants
    import sre_parse as _parser

from healthcheck.errors import KitFailure
from healthcheck.stages.service import catalogue as tables
from healthcheck.stages.service.catalogue import Catalogue, Severity, States, catalogue
from healthcheck.stages.service.diagnosis import (
    OVERLAP_BYTES,
    WINDOW_BYTES,
    Diagnosis,
    diagnose_stream,
)

KNOWN = catalogue().failures
PATTERNS = [pattern for failure in KNOWN for pattern in failure.patterns] + list(catalogue().benign)
SPECIFIC = [failure for failure in KNOWN if failure.severity is not Severity.GENERIC]
PREFIXES = (
    "",
    "(EngineCore pid=123) ERROR 11-21 08:49:14 [core.py:1234] ",
    "\x1b[0;36m(EngineCore_DP0 pid=77)\x1b[0;0m ERROR 01-02 03:04:05.678 [utils.py:1] ",
    "(Worker_TP3 pid=9) ",
    "[rank0]: ",
    "ERROR 07-04 11:23:53 [core.py:1] ",
    "ERROR 07-04 11:23:53 engine.py:448] ",
    "(AsyncEngine pid=891625) (EngineCore_0 pid=892764) ERROR 09-10 23:09:10 [x.py:1] ",
    "Aug 17 18:42:18 host vllm[8052]: (APIServer pid=8052) ",
    "2025-07-04T11:23:53.123456789Z stderr F ",
)
OOM = "RuntimeError: NPU out of memory. Tried to allocate 11.50 GiB (NPU 15; 60.97 GiB total capacity;"


def diagnosed(text: str | bytes) -> Diagnosis:
    return diagnose_stream(io.BytesIO(text.encode() if isinstance(text, str) else text))


def cause(text: str | bytes) -> str:
    found = diagnosed(text).named
    return found.failure.id if found else ""


def test_what_is_quoted_has_no_secret_in_it():
    """`npu-adapter diagnose` prints these lines, and people paste them."""
    found = diagnosed(
        "Error: pip cannot reach http://me:hunter2@127.0.0.1:9/simple\nError: HF_TOKEN=hf_abc is invalid"
    )
    said = str((found.block, found.cause, found.others))
    assert "removed" in said
    assert "hunter2" not in said
    assert "hf_abc" not in said


def test_each_example_is_its_own_failure_and_no_other(subtests: pytest.Subtests):
    for failure in KNOWN:
        with subtests.test(failure.id):
            assert failure.examples
            assert failure.sources
            for example in failure.examples:
                found = diagnosed(example)
                hits = [hit.failure.id for hit in (found.named, *found.others) if hit]
                assert hits == [failure.id]
                assert bool(found.named) == (failure.severity is not Severity.GENERIC)
                if failure.severity is not Severity.KIND and (found.block or not failure.states):
                    is_cause = (
                        States.LINE in failure.states or failure.severity is not Severity.SYMPTOM
                    )
                    assert bool(found.kind) != is_cause


def test_the_prefixes_of_vllm_hide_nothing(subtests: pytest.Subtests):
    for failure in SPECIFIC:
        with subtests.test(failure.id):
            for prefix in PREFIXES:
                for example in failure.examples:
                    assert (
                        cause("\n".join(prefix + line for line in example.split("\n")))
                        == failure.id
                    )


def test_ids_are_unique_and_each_word_of_states_is_used():
    assert len({failure.id for failure in KNOWN}) == len(KNOWN)
    assert {word for failure in KNOWN for word in failure.states} == set(States)


def test_a_word_of_states_that_does_not_exist_is_an_error_of_the_file(tmp_path, monkeypatch):
    text = tables.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(tables, "FILE", tmp_path / "failures.yaml")
    tables.FILE.write_text(
        text.replace("  states: line\n", "  states: lines\n", 1), encoding="utf-8"
    )
    with pytest.raises(KitFailure, match="lines"):
        tables._catalogue(8001)


def test_a_harmless_pattern_keeps_its_flags():
    known = Catalogue(
        failures=KNOWN, benign=(re.compile("^(?:all is WELL)", re.IGNORECASE | re.MULTILINE),)
    )
    found = diagnose_stream(io.BytesIO(f"step 1\nAll is well: {OOM}\nstep 2\n".encode()), known)
    assert (found.cause, found.others, found.lines) == (None, (), 3)


def test_the_first_specific_failure_wins_over_wrappers_and_consequences():
    log = [
        "npu-smi: command not found",
        "INFO 11-21 08:49:08 [x.py:1] Starting",
        *(
            "(Worker_TP0 pid=1) ERROR 11-21 08:49:14 [w.py:1] " + line
            for line in ("Traceback (most recent call last):", OOM)
        ),
        "NotImplementedError: Cannot copy out of meta tensor; no data!",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    ]
    found = diagnosed("\n".join(log))
    assert found.cause
    assert found.cause.failure.id == "npu-oom"
    assert [line.number for line in found.cause.lines] == [4]
    assert found.cause.lines[0].text == OOM
    assert {hit.failure.id for hit in found.others} == {"npu-smi-missing", "engine-core-failed"}


@pytest.mark.parametrize(
    "harmless",
    [
        "INFO 11-21 08:49:14 [core.py:133] Initializing a V1 LLM engine with config: trust_remote_code=True, fp8 not supported on npu",
        "(APIServer pid=1) INFO 11-21 08:49:14 [a.py:1] Address already in use is what it would say",
        "rtMemcpy execute failed, error code is 107030, error code is 507015",
        "Failed to import from vllm._C with ModuleNotFoundError(\"No module named 'vllm._C'\")",
        "PTA parameter=foo has value x; action: resetting to default; not implemented for DT_BFLOAT16",
    ],
)
def test_what_only_looks_like_a_failure_is_none(harmless):
    found = diagnosed(f"{harmless}\nall is well\n")
    assert not found.cause
    assert not found.others


def test_a_warning_is_the_cause_only_where_nothing_else_went_wrong():
    warning = "bash: npu-smi: command not found"
    assert cause(warning) == "npu-smi-missing"
    unknown = f'{warning}\nTraceback (most recent call last):\n  File "a.py", line 1, in f\nOddError: no idea'
    assert cause(unknown) == ""
    assert [line.text for line in diagnosed(unknown).block][-1] == "OddError: no idea"


def test_a_kind_is_read_from_the_last_error_alone_and_only_where_no_cause_is_known():
    early = "KeyError: 'gate'\n" + "INFO 11-21 08:49:08 [x.py:1] Starting\n" * 3
    late = 'Traceback (most recent call last):\n  File "/srv/x.py", line 7, in y\n    assert self.ready\nAssertionError'
    found = diagnosed(early + late)
    assert not found.cause
    assert found.kind
    assert found.kind.failure.id == "kind-assertion"
    assert "/srv/x.py" in "\n".join(line.text for line in found.telling)
    assert not diagnosed(OOM).kind


def test_a_traceback_that_the_log_ends_on_is_none():
    beginning = 'Traceback (most recent call last):\n  File "/srv/x.py", line 7, in y'
    found = diagnosed(f"ERROR 11-21 08:49:08 [x.py:1] AssertionError: too few\n{beginning}")
    assert found.kind
    assert found.kind.failure.id == "kind-assertion"


def test_without_a_known_cause_the_last_error_block_is_given_once():
    worker = [
        "Traceback (most recent call last):",
        '  File "/srv/model.py", line 12, in load',
        "    frobnicate(17)",
        "strange.FrobnicationFailure: shard 17 of 64",
        "  with a second line",
    ]
    log = [
        f"(Worker_TP{n} pid=1{n}) ERROR 11-21 08:49:14 [w.py:1] {line}"
        for n in range(4)
        for line in worker
    ]
    log += ["Traceback (most recent call last):", '  File "x.py", line 1, in main']
    log += [
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    ]
    found = diagnosed("\n".join(log))
    assert not found.cause
    assert [line.text for line in found.block] == worker
    assert found.block[0].number == 1


def test_a_log_without_a_traceback_gives_its_last_complaint():
    found = diagnosed("starting\nloading 1\nthe frobnicator failed to engage\ngood bye\n")
    assert found.block[0].text == "the frobnicator failed to engage"
    assert diagnosed("all is well\n").block == ()


def test_memory_stays_bounded_and_lines_keep_their_numbers_in_a_long_log(tmp_path):
    log = tmp_path / "long.log"
    line = b"(APIServer pid=1) request served in 0.123 s and nothing at all is wrong with it\n"
    count = 12 * WINDOW_BYTES // len(line)
    with log.open("wb") as file:
        for _ in range(12):
            file.write(line * (count // 12))
        file.write(OOM.encode() + b"\n")
    tracemalloc.start()
    with log.open("rb") as stream:
        found = diagnose_stream(stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.cause
    assert found.cause.lines[0].number == count // 12 * 12 + 1
    assert found.lines == count // 12 * 12 + 1
    assert peak < 24 * WINDOW_BYTES


@given(before=st.integers(WINDOW_BYTES - 300, WINDOW_BYTES + 300), newline=st.booleans())
@settings(deadline=None, max_examples=5)
def test_a_failure_across_the_edge_of_a_window_is_found(before, newline):
    example = "AssertionError: local_world_size (8) must be less than or equal to the number\nof visible devices (0)."
    filler = (b"x" * 99 + b"\n") * (before // 100) + b"y" * (before % 100)
    found = diagnosed(filler + (b"\n" if newline else b" ") + example.encode())
    assert found.cause
    assert found.cause.failure.id == "world-size-gt-devices"
    assert found.cause.lines[0].number == before // 100 + 1 + newline


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=200), st.sampled_from([f.examples[0].encode() for f in KNOWN])
        ),
        max_size=12,
    )
)
@settings(deadline=None, max_examples=60)
def test_any_bytes_give_a_diagnosis(parts):
    data = b"\n".join(parts)
    found = diagnosed(data)
    numbers = [line.number for line in found.block] + [
        line.number for hit in found.others for line in hit.lines
    ]
    assert all(1 <= number <= data.count(b"\n") + 1 for number in numbers)
    assert all("\x1b" not in line.text for line in found.block)


def test_one_line_without_end_is_no_trouble():
    found = diagnosed(
        b"z" * (3 * WINDOW_BYTES)
        + b" Cannot find any model weights with `w` "
        + b"z" * OVERLAP_BYTES
    )
    assert found.cause
    assert found.cause.failure.id == "weights-none"
    assert max(len(line.text) for line in found.cause.lines) < 1000


@pytest.mark.process
def test_the_shells_own_words_are_understood(tmp_path):
    """What real shells print for a missing program, a missing variable and Windows line ends."""
    import shutil
    import subprocess

    scripts = {
        "command-not-found": "nosuchprogram --flag",
        "unbound-variable": "set -u\necho $NO_SUCH_VARIABLE",
        "shell-syntax": "if true; then (",
        "crlf": "set -e\r\ncd /\r\nif true; then\r\necho\r\nfi\r",
        "file-not-found": ". /no/such/file",
    }
    for shell in filter(shutil.which, ("dash", "bash", "sh")):
        for wanted, script in scripts.items():
            path = Path(tmp_path / "deploy.sh")
            path.write_text(script + "\n", newline="")
            said = subprocess.run([shell, str(path)], capture_output=True, check=False).stderr
            assert cause(said) == wanted, (shell, said)


def repetitions(tree, inside=()):
    """Each repetition of a parsed pattern: its greatest count, its body, and the repetitions around it."""
    for operation, argument in tree:
        if operation in {_constants.MAX_REPEAT, _constants.MIN_REPEAT}:
            _, greatest, body = argument
            yield int(greatest), body, inside
            yield from repetitions(body, (*inside, (int(greatest), body)))
        elif operation is _constants.BRANCH:
            for branch in argument[1]:
                yield from repetitions(branch, inside)
        elif operation is _constants.SUBPATTERN:
            yield from repetitions(argument[3], inside)
        elif operation in {_constants.ASSERT, _constants.ASSERT_NOT}:
            yield from repetitions(argument[1], inside)


def ends_a_line(body):
    operation, argument = list(body)[-1]
    if operation is _constants.SUBPATTERN:
        return ends_a_line(argument[3])
    return (operation, argument) == (_constants.LITERAL, ord("\n"))


def test_the_work_of_a_pattern_is_bounded(subtests: pytest.Subtests):
    """A submission writes its log: no pattern may repeat without an end, nor repeat what itself varies within a line."""
    for pattern in PATTERNS:
        with subtests.test(pattern.pattern):
            for greatest, _, inside in repetitions(_parser.parse(pattern.pattern, re.MULTILINE)):
                assert greatest <= 1000
                assert all(
                    times == 1 or greatest == 1 or ends_a_line(body) for times, body in inside
                )


def lead(tree):
    """The text that a pattern begins with."""
    text = ""
    for operation, argument in tree:
        if operation is _constants.SUBPATTERN:
            inner = lead(argument[3])
            text += inner
        elif operation is _constants.BRANCH:
            return text + lead(argument[1][0])
        elif operation is _constants.LITERAL:
            text += chr(argument)
        else:
            break
    return text


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:40])
def test_a_megabyte_that_begins_to_match_everywhere_is_searched(pattern):
    start = lead(_parser.parse(pattern.pattern, re.MULTILINE)) or "a"
    for unit in (start, start + "\n", f"{start} a: 1: [1 ' ("):
        pattern.search(unit * (2**20 // len(unit)))


def test_a_megabyte_of_beginnings_is_diagnosed():
    beginnings = "".join(lead(_parser.parse(each.pattern, re.MULTILINE)) for each in PATTERNS)
    diagnosed(beginnings * (2**20 // len(beginnings)))


def test_a_log_full_of_noise_is_read():
    noise = "rtMemcpy execute failed, error code is 107030\n" * 40_000
    found = diagnosed(noise + OOM)
    assert found.cause
    assert found.cause.failure.id == "npu-oom"
    assert found.cause.lines[0].number == 40_001
