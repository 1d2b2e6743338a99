"""The parser of npu-smi's narrower queries: any damage of any kind, and any text, is read or refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from healthcheck.extensions.runner import npu_smi_queries
from tests.machine.test_npu_smi import SAMPLES

MAPPING = (
    "NPU ID    Chip ID    Chip Logic ID    Chip Name\n0   0   0   Ascend 910B3\n0   1   -   Mcu\n"
)
BOARD = "  NPU ID : 0\n  Compatibility : NOK\n\n  Chip ID : 0\n  Health : OK\n\n  Chip Name : MCU\n"
TEXTS = [*SAMPLES, MAPPING, BOARD]


def read_all(text: str) -> None:
    npu_smi_queries.mapping(text)
    npu_smi_queries.fields(text)
    npu_smi_queries.process_memory(text, npu=0, chip=0)


@given(st.sampled_from(TEXTS), st.data())
def test_any_truncation(text, data):
    read_all(text[: data.draw(st.integers(0, len(text)))])
    read_all(text[data.draw(st.integers(0, len(text))) :])


@given(st.sampled_from(TEXTS), st.lists(st.tuples(st.integers(0, 9000), st.text(max_size=5))))
def test_any_corruption(text, edits):
    for place, instead in edits:
        at = place % len(text)
        text = text[:at] + instead + text[at + len(instead) :]
    read_all(text)


@given(st.text(alphabet="|+-=:/ 0123456789.OKNAaé٣²\n", max_size=400))
def test_any_text_of_the_same_characters(text):
    read_all(text)
