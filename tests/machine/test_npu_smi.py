"""The parser on outputs of our own: five layouts, every health, and damage of any kind."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.errors import KitError
from healthcheck.machine import npu_smi
from healthcheck.machine.npu_smi import HEALTHS
from tests.machine.tables import LAYOUTS, Row, info

HOLDERS = [(0, 0, 4711, "VLLMEngineCor", 56313)]
ROWS = [
    Row(npu=0, used=41697),
    Row(npu=5, health="Warning"),
    Row(npu=224, chip=1, name="310P3", total=43693),
]
SAMPLES = [info(layout, ROWS, HOLDERS) for layout in LAYOUTS]


@pytest.mark.parametrize("health", HEALTHS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_with_every_health(layout, health):
    rows = [
        Row(npu=0),
        Row(npu=5, health=health, used=61125),
        Row(npu=32896, name="Ascend910", total=43693),
    ]
    table = npu_smi.parse(info(layout, rows, HOLDERS))
    assert [(c.npu, c.name, c.health, c.used_mib, c.total_mib) for c in table.chips] == [
        (0, "910B3", "OK", 3400, 65536),
        (5, "910B3", health, 61125, 65536),
        (32896, "Ascend910", "OK", 3400, 43693),
    ]
    assert [(h.npu, h.chip, h.pid, h.name, h.memory_mib) for h in table.holders] == HOLDERS

    assert table.driver.startswith(("25.", "26."))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_row_that_was_cut_is_no_chip_of_wrong_figures(layout):
    whole = info(layout, [Row(npu=0), Row(npu=1, used=61125)])
    at = whole.index("61125")
    table = npu_smi.parse(whole[: at + 3])
    assert [chip.npu for chip in table.chips] == [0]


@pytest.mark.parametrize(
    "text", ["", "bash: npu-smi: command not found", "+---+\n| a | b | c |\n+---+"]
)
def test_what_is_no_table_is_said_in_words(text):
    with pytest.raises(npu_smi.SmiError, match="no table of chips"):
        npu_smi.parse(text)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("dcmi module initialize failed. ret is -8005", (-8005,)),
        ("x ret is -8020\ny ret is -9005.\nz ret is -8020", (-8020, -9005)),
        ("ret is ", ()),
        ("ret is 0", ()),
        ("ret is -" + "9" * 5000, ()),
    ],
)
def test_codes(text, codes):
    assert npu_smi.error_codes(text) == codes


def read_all(text: str) -> None:
    """Everything that reads an output; the kit's own error is the only one that may come."""
    npu_smi.error_codes(text)
    with contextlib.suppress(KitError):
        npu_smi.parse(text)


@given(st.sampled_from(SAMPLES), st.data())
def test_any_truncation_is_read_or_refused(text, data):
    read_all(text[: data.draw(st.integers(0, len(text)))])
    read_all(text[data.draw(st.integers(0, len(text))) :])


@given(st.sampled_from(SAMPLES), st.lists(st.tuples(st.integers(0, 9000), st.text(max_size=5))))
def test_any_corruption_is_read_or_refused(text, edits):
    for place, instead in edits:
        at = place % len(text)
        text = text[:at] + instead + text[at + len(instead) :]
    read_all(text)


@given(st.text(alphabet="|+-=:/ 0123456789.OKNAaé٣²\n", max_size=400))
def test_any_text_of_the_same_characters(text):
    read_all(text)


@given(st.sampled_from(SAMPLES), st.data())
def test_a_truncated_table_has_only_chips_of_the_whole_one(text, data):
    whole = npu_smi.parse(text).chips
    try:
        part = npu_smi.parse(text[: data.draw(st.integers(0, len(text)))]).chips
    except KitError:
        return
    assert part == whole[: len(part)]


OLD_910A = """
| npu-smi 24.1.0                   Version: 24.1.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| 0     {name:<20} | OK            | 78.0        38                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           {beside}      18   / {hbm}         |
"""


@pytest.mark.parametrize(
    ("name", "beside", "hbm", "kind"),
    [
        ("910B", "2387 / 13553", 32768, "910A"),
        ("910B", "0    / 15665", 32768, "910A"),
        ("910B", "0    / 0    ", 32768, "910B"),
        ("910B", "2387 / 13553", 65536, "910B"),
        ("910B4", "0    / 0    ", 32768, "910B4"),
        ("910ProB", "2387 / 13553", 32768, "910ProB"),
    ],
)
def test_npu_smi_24_1_0_calls_a_910a_a_910b(name, beside, hbm, kind):
    (chip,) = npu_smi.parse(OLD_910A.format(name=name, beside=beside, hbm=hbm)).chips
    assert (chip.name, chip.kind) == (name, kind)
