"""Failures from public issues: a half that built the table of known failures, a half that measured it, and more samples."""

from __future__ import annotations

import io
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.stages.service.catalogue import catalogue
from healthcheck.stages.service.diagnosis import diagnose_stream
from healthcheck.text.secret_shapes import REMOVED

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).parent / "data"
PAGE = Path(__file__).parents[2] / "docs" / "known-failures.md"


def logs_of(name):
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))["log"]


LOGS = logs_of("failure_logs.toml")
LATER = (
    "more_failure_logs.toml",
    "fresh_failure_logs.toml",
    "last_failure_logs.toml",
    "newest_failure_logs.toml",
)
MORE = [log for name in LATER for log in logs_of(name)]
"""Each measured once before the table saw it; the table was repaired since, so they only keep it from getting worse."""
SAMPLES = range(2, 1 + max(log["sample"] for log in MORE))
UNKNOWN = "unknown"
NAMED = {
    *(
        f"vllm-project/vllm-ascend#{number}"
        for number in (
            *(
                117,
                152,
                632,
                692,
                1796,
                1901,
                1955,
                2698,
                2712,
                3162,
                3196,
                4284,
                4404,
                5461,
                5710,
                6484,
                6490,
                7076,
                7782,
            ),
            *(8186, 8367, 9294, 9447, 11171, 11368, 12907, 14347, 14467, 14628, 16983),
        )
    ),
    *(
        "Project-HAMi/ascend-device-plugin#23",
        "Ascend/cann-container-image#46",
        "Ascend/pytorch#99",
    ),
}
"""Issues that the table or the task named before any log was collected: they build the table."""


def builds(log):
    return log["issue"] in NAMED or int(log["issue"].split("#")[1]) % 2 == 0


def named(log):
    found = diagnosed(log).named
    return found.failure.id if found else UNKNOWN


def diagnosed(log):
    return diagnose_stream(io.BytesIO("\n".join(log["lines"]).encode()))


def confusion(logs):
    """How many are named rightly, named wrongly, unknown rightly, and missed."""
    counts = Counter()
    for log in logs:
        said = named(log)
        right = said in log["causes"]
        counts[(said != UNKNOWN, right)] += 1
    return counts[True, True], counts[True, False], counts[False, True], counts[False, False]


def test_there_are_enough_logs_and_each_is_there_once():
    assert len(LOGS) >= 150
    assert len({log["issue"] for log in [*LOGS, *MORE]}) == len(LOGS) + len(MORE)
    assert sum(map(builds, LOGS)) >= 75
    assert sum(not builds(log) for log in LOGS) >= 75


def test_no_fresh_log_says_what_another_says():
    """A repeated message measures nothing."""
    said = Counter(
        re.sub(r"\d+", "#", "\n".join(log["lines"])) for log in MORE if log["sample"] > 3
    )
    assert [lines for lines, times in said.items() if times > 1] == []


def test_a_log_is_facts_with_a_source(subtests: pytest.Subtests):
    for log in (*LOGS, *MORE):
        with subtests.test(log["issue"]):
            repository, number = log["issue"].split("#")
            assert repository.count("/") == 1
            assert int(number) > 0
            assert log["year"] in {2025, 2026}
            assert log["basis"] in {"thread", "text", "title"}
            assert 1 <= len(log["lines"]) <= 6
            assert set(log["causes"]) <= {
                UNKNOWN,
                *(failure.id for failure in catalogue().failures),
            }


@pytest.mark.parametrize("half", [True, False], ids=["build", "measure"])
def test_most_are_named_and_none_wrongly(half):
    logs = [log for log in LOGS if builds(log) is half]
    right, wrong, _, _ = confusion(logs)
    assert not wrong
    assert right / len(logs) >= 0.6


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_log_of_the_later_samples_is_named_wrongly(sample):
    right, wrong, _, missed = confusion([log for log in MORE if log["sample"] == sample])
    assert not wrong
    assert right / (right + missed) >= 0.9


def test_the_page_says_what_is_measured():
    halves = [[log for log in LOGS if builds(log) is half] for half in (True, False)]
    samples = [[log for log in MORE if log["sample"] == sample] for sample in SAMPLES]
    rows = []
    for logs in (*halves, *samples):
        right, wrong, elsewhere, missed = confusion(logs)
        kinds = sum(bool(diagnosed(log).kind) for log in logs) - wrong
        shares = f"{right} ({right / len(logs):.0%}) | {right - kinds} | {kinds}"
        rows.append(f"| {len(logs)} | {shares} | {wrong} | {missed} | {elsewhere} |")
    table = PAGE.read_text(encoding="utf-8").partition("With the table as it is now")[2]
    assert [row for row in rows if row.replace("%)", " %)") not in table] == []


QUOTED_LINE = re.compile(r" {2}( *\d+) {2}(.*)")


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_quoted_line_stands_in_the_log(language, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NPU_ADAPTER_LANG", language)
    quoted, changed = 0, []
    for log in (*LOGS, *MORE):
        (tmp_path / "log").write_text("\n".join(log["lines"]), encoding="utf-8")
        main(["diagnose", str(tmp_path / "log")])
        for number, text in filter(None, map(line_of, capsys.readouterr().out.splitlines())):
            quoted += 1
            if text.partition(REMOVED)[0] not in "\n".join(log["lines"]).split("\n")[number - 1]:
                changed.append((log["issue"], number, text))
    assert quoted > len(LOGS)
    assert changed == []


def line_of(printed):
    found = QUOTED_LINE.fullmatch(printed)
    return (int(found[1]), found[2]) if found else None
