"""The header parser: any bytes give a record or its own error, and sound files are taken as the real library does."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.weights.safetensors import BITS, FormatError, header_length, parse_header
from tests.weights.folders import findings, header, judge, model, safetensors, said

NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.booleans(), st.none(), st.text(max_size=3)
)
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.one_of(st.sampled_from(sorted(BITS)), st.text(max_size=5), st.none()),
        "shape": st.one_of(st.lists(st.one_of(st.integers(0, 9), NUMBERS), max_size=4), NUMBERS),
        "data_offsets": st.one_of(
            st.lists(st.one_of(st.integers(0, 99), NUMBERS), max_size=3), NUMBERS
        ),
    },
)
HEADERS = st.dictionaries(st.text(max_size=8), st.one_of(ENTRIES, NUMBERS), max_size=5)


@given(st.binary(max_size=400), st.integers(0, 2**63))
def test_any_bytes_give_a_record_or_the_parsers_own_error(data: bytes, size: int) -> None:
    for attempt in (
        lambda: header_length(data, size),
        lambda: parse_header(data, size),
        lambda: parse_header(b"{" + data),
    ):
        try:
            attempt()
        except FormatError:
            continue


@given(HEADERS, st.integers(0, 10_000))
def test_any_json_gives_a_record_or_the_parsers_own_error(value: dict, size: int) -> None:
    try:
        parsed = parse_header(json.dumps(value).encode(), size)
    except FormatError:
        return
    assert all(tensor.end >= tensor.start >= 0 for tensor in parsed.tensors)


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=9),
        st.tuples(st.sampled_from(["BF16", "F32", "U8"]), st.lists(st.integers(0, 5), max_size=3)),
        max_size=6,
    )
)
def test_a_sound_header_has_no_faults_and_the_right_length(tensors: dict) -> None:
    tensors.pop("__metadata__", None)
    head, size = header({name: (dtype, tuple(shape)) for name, (dtype, shape) in tensors.items()})
    parsed = parse_header(head[8:], len(head) + size)
    assert parsed.faults == ()
    assert header_length(head, len(head) + size) == len(head) - 8
    assert {tensor.name for tensor in parsed.tensors} == set(tensors)


def entry(dtype: str = "U8", shape: tuple[int, ...] = (4,), start: int = 0, end: int = 4) -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


FAULTS = {
    "overlap": ({"a": entry(), "b": entry(start=2, end=6)}, 6, "overlap"),
    "hole": ({"a": entry(), "b": entry(start=8, end=12)}, 12, "hole of 4 bytes"),
    "hole at the start": ({"a": entry(start=4, end=8)}, 8, "hole of 4 bytes"),
    "bytes left over": ({"a": entry()}, 9, "5 bytes after its last tensor"),
    "shape and range differ": ({"a": entry(shape=(5,))}, 4, "takes 5 bytes, its range has 4"),
    "unknown dtype": ({"a": entry(dtype="BF17")}, 4, "unknown dtype 'BF17'"),
    "range backwards": ({"a": entry(start=4, end=0)}, 4, "not a range"),
    "negative extent": ({"a": entry(shape=(-4,))}, 4, "not a size"),
    "extent beyond all bounds": ({"a": entry(shape=(2**63,))}, 4, "not a size"),
    "cut off": ({"a": entry()}, 3, "cut off"),
    "metadata of numbers": ({"__metadata__": {"a": 1}, "a": entry()}, 4, "__metadata__"),
    "half bytes": ({"a": entry(dtype="F4", shape=(3,), end=1)}, 1, "takes 1.5 bytes"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_named(name: str) -> None:
    value, data_bytes, text = FAULTS[name]
    data = json.dumps(value).encode()
    assert text in " ".join(parse_header(data, 8 + len(data) + data_bytes).faults)


def test_a_name_that_is_given_twice_is_a_fault() -> None:
    data = b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    assert "'a' twice" in " ".join(parse_header(data, 8 + len(data) + 1).faults)


@pytest.mark.process
@pytest.mark.parametrize("claimed", [2**63, 2**64 - 1, 100_000_001])
def test_a_header_that_claims_more_than_the_format_allows_is_not_read(
    claimed: int, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w")
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", claimed) + b"{" * 100)
    results = judge(folder)
    assert findings(results) == {"weights/safetensors": "fail"}
    assert f"{claimed:,}" in said(results, "weights/safetensors")


@pytest.mark.process
def test_a_header_above_what_is_read_here_is_a_warning(tmp_path: Path) -> None:
    folder = model(tmp_path / "w")
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", 60_000_000) + b"{")
        file.truncate(70_000_000)
    assert findings(judge(folder)) == {"weights/safetensors": "warn"}


PEER = Path(__file__).parents[2] / ".venv-vllm" / "bin" / "python"


@pytest.mark.peer
def test_the_real_library_agrees(tmp_path: Path) -> None:
    """Source of truth: safetensors' own reader, where the engine's environment is installed."""
    if not PEER.exists():
        pytest.skip("the environment .venv-vllm is not there")
    for name, (value, data_bytes, _) in FAULTS.items():
        data = json.dumps(value).encode()
        (tmp_path / f"{name}.safetensors").write_bytes(
            struct.pack("<Q", len(data)) + data + b"\0" * data_bytes
        )
    safetensors(tmp_path / "sound.safetensors", {"a": ("BF16", (2, 3)), "b": ("I8", ())})
    script = (
        "import sys, pathlib\nfrom safetensors import safe_open, SafetensorError\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.safetensors')):\n"
        "    try:\n        safe_open(str(path), 'np').keys(); print(path.stem + '=taken')\n"
        "    except SafetensorError: print(path.stem + '=refused')\n"
    )
    run = subprocess.run(
        [PEER, "-c", script, tmp_path], capture_output=True, text=True, check=True, timeout=120
    )
    theirs = dict(line.split("=") for line in run.stdout.split("\n") if line)
    assert theirs == {**dict.fromkeys(FAULTS, "refused"), "sound": "taken"}
