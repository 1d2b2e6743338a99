"""The decoder gives the same blocks whatever the split of the bytes, and holds no more than its bound."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from healthcheck.wire.sse import Block, Decoder

ENDS = st.sampled_from(
    [b"\n\n", b"\r\n\r\n", b"\r\r", b"\n", b"\r\n", b"\n\n\n", b"\r\n\n", b"\n\r\n", b"\r"]
)
PARTS = st.sampled_from(
    [b"data: {}", b": ping", b"data: \xe4\xbd\xa0", b"\xff", b"x" * 40, b" ", b""]
)
STREAMS = st.lists(st.tuples(PARTS, ENDS).map(b"".join), max_size=8).map(b"".join) | st.binary(
    max_size=200
)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(places)]


def decode(parts: list[bytes], **limits: int) -> tuple[list[Block], tuple[str, ...]]:
    decoder = Decoder(**limits)
    blocks = [block for part in parts for block in decoder.feed(part)] + decoder.close()
    return blocks, decoder.faults


@given(STREAMS, st.lists(st.integers(0, 250), max_size=6))
def test_any_split_gives_the_same_blocks(data: bytes, cuts: list[int]) -> None:
    assert decode(pieces(data, cuts)) == decode([data])


@given(STREAMS, st.lists(st.integers(0, 250), max_size=6), st.integers(1, 30), st.integers(1, 30))
def test_any_split_meets_the_same_limits(
    data: bytes, cuts: list[int], limit: int, line_limit: int
) -> None:
    limits = {"limit": limit, "line_limit": line_limit}
    assert decode(pieces(data, cuts), **limits) == decode([data], **limits)


def test_cr_lf_and_both_end_a_block_alike() -> None:
    for blank in (b"\n\n", b"\r\n\r\n", b"\r\r"):
        assert decode([b"data: 1" + blank + b"data: 2"])[0] == [Block("data: 1"), Block("data: 2")]


def test_a_block_without_end_is_given_up_and_not_held() -> None:
    decoder = Decoder(limit=1000)
    for _ in range(1000):
        assert decoder.feed(b"x" * 100) == []
    assert decoder.close() == []
    assert any("no blank line within 1000 bytes" in fault for fault in decoder.faults)


def test_what_came_before_a_block_without_end_is_kept() -> None:
    blocks, faults = decode([b"data: 1\n\n" + b"x" * 2000 + b"\n\ndata: 2\n\n"], limit=1000)
    assert blocks == [Block("data: 1")]
    assert faults


def test_bytes_that_are_no_utf8_are_marked() -> None:
    assert decode([b"data: \xff\n\n"])[0][0].replaced
    assert not decode(["data: �\n\n".encode()])[0][0].replaced


def test_a_line_as_long_as_the_clients_library_takes_is_fine_and_one_more_byte_is_not() -> None:
    assert decode([b"x" * 99 + b"\n\n"], line_limit=100) == ([Block("x" * 99)], ())
    assert decode([b"x" * 100 + b"\n\n"], line_limit=100)[1]
