# ruff: noqa: INP001 - scripts are no package
"""Record every judgement that the tests cause, and compare two records.

    .venv/bin/python scripts/judgements.py record before.jsonl tests/plan tests/weights
    .venv/bin/python scripts/judgements.py record before.jsonl --part 3 -m "not (engine or peer)"
    .venv/bin/python scripts/judgements.py compare before.jsonl after.jsonl
    .venv/bin/python scripts/judgements.py compare before.jsonl again.jsonl after.jsonl

It proves that a change of form changes no judgement. `record` runs pytest with this module as a plugin;
the arguments after the file go to pytest. It keeps the result of each check (id, outcome, settled, and every
text in English and in Chinese), each report with its verdict and exit status, and the exit status of each command.

`compare` prints what only the first record or only the last one contains, and exits with 1 if they differ.
Durations, process ids and temporary folders are replaced by a word. With a second record of the first commit
between the two, tests whose judgements differ from run to run are left out and counted.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

if TYPE_CHECKING:
    import pytest

    from healthcheck.core.records import CheckResult, Report

FOLDER_VARIABLE = "NPU_ADAPTER_JUDGEMENTS"
MOST_PRINTED = 40
NOISE = (
    (re.compile(r"/(?:dev/shm|tmp|var/tmp)/[^\s'\"“”’)，。]*"), "FOLDER"),
    (re.compile(r"npu-adapter-[\w.-]+"), "FOLDER"),
    (re.compile(r"\b\d+(?:\.\d+)?(?= ?(?:m?s|ms|min|seconds|秒|分钟)\b)"), "TIME"),
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"(?<=[:= ])[3-6]\d{4}\b"), "PORT"),
    (re.compile(r"\b(?:pid|process|进程) ?\d+"), "PROCESS"),
)
Record = Mapping[str, object]
Answer = TypeVar("Answer")


def main() -> int:
    """Record or compare; returns 1 if records differ, or pytest's exit status if it could not run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "rest", nargs=argparse.REMAINDER, help="options of pytest, or the records to compare with"
    )
    options = parser.parse_args()
    if options.command == "record":
        return record(options.file, options.rest)
    return compare([options.file, *map(Path, options.rest)])


def record(file: Path, pytest_options: list[str]) -> int:
    """Run the tests with this plugin and keep the judgements of all their processes in one file."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            FOLDER_VARIABLE: folder,
            "PYTHONPATH": str(Path(__file__).parent),
        }
        command = [sys.executable, "-m", "pytest", "-p", Path(__file__).stem, *pytest_options]
        status = subprocess.run(command, check=False, env=environment).returncode
        lines = sorted(
            line
            for part in Path(folder).iterdir()
            for line in part.read_text("utf-8").split("\n")
            if line
        )
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{len(lines)} judgements in {file}")
    return status


def compare(files: list[Path]) -> int:
    """Print what differs between the first and the last record; those between show what is noise."""
    before, after = read(files[0]), read(files[-1])
    noisy = {test for file in files[1:-1] for test in differing(before, read(file))}
    found = [test for test in differing(before, after) if test not in noisy]
    for test in found[:MOST_PRINTED]:
        print(test)
        for sign, lost in (("-", before[test] - after[test]), ("+", after[test] - before[test])):
            for line in lost:
                print(f"  {sign} {line}")
    total = sum(sum(lines.values()) for lines in before.values())
    print(
        f"{total} judgements of {len(before)} tests; {len(found)} tests differ, {len(noisy)} left out as noise"
    )
    return 1 if found else 0


def read(file: Path) -> dict[str, Counter[str]]:
    """The judgements of each test, without what differs from run to run."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for line in filter(None, file.read_text("utf-8").split("\n")):
        entry = json.loads(line)
        found[entry.pop("test")][quiet(json.dumps(entry, ensure_ascii=False, sort_keys=True))] += 1
    return found


def quiet(line: str) -> str:
    """The line with words in place of durations, process ids and temporary folders."""
    for pattern, word in NOISE:
        line = pattern.sub(word, line)
    return line


def differing(before: Mapping[str, Counter[str]], after: Mapping[str, Counter[str]]) -> list[str]:
    """The tests whose judgements are not the same in both records."""
    return sorted(
        test
        for test in {*before, *after}
        if before.get(test, Counter()) != after.get(test, Counter())
    )


class Recorder:
    """The pytest plugin: keeps what checks, reports and commands say while a test runs."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.test = ""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.test = nodeid

    def keep(self, entry: Record) -> None:
        self.file.write(json.dumps({"test": self.test, **entry}, ensure_ascii=False) + "\n")
        self.file.flush()


def pytest_configure(config: pytest.Config) -> None:
    """Wrap the doors through which every judgement goes, before a test imports them."""
    from healthcheck import cli  # noqa: PLC0415 - only the process that runs tests imports the kit
    from healthcheck.core import check, records  # noqa: PLC0415

    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return
    recorder = Recorder((Path(folder) / f"{os.getpid()}.jsonl").open("w", encoding="utf-8"))
    config.pluginmanager.register(recorder)
    wrap(check.Check, "judge", lambda result: recorder.keep(check_entry(result)))
    wrap(cli, "main", lambda status: recorder.keep({"kind": "command", "exit_status": int(status)}))
    made = records.Report.__init__

    @functools.wraps(made)
    def keep_report(self: Report, *arguments: object, **values: object) -> None:
        made(self, *arguments, **values)  # type: ignore[arg-type]
        recorder.keep(report_entry(self))

    records.Report.__init__ = keep_report  # type: ignore[method-assign]


def wrap(owner: object, name: str, keep: Callable[[Answer], None]) -> None:
    """Have a function or method hand each of its answers to `keep`."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def kept(*arguments: object, **values: object) -> Answer:
        answer: Answer = function(*arguments, **values)
        keep(answer)
        return answer

    setattr(owner, name, kept)


def check_entry(result: CheckResult) -> Record:
    """A result in words of both languages, without its duration."""
    findings = [
        {
            "level": finding.level.value,
            "where": finding.where,
            **in_both_languages("expected", finding.expected),
            **in_both_languages("seen", finding.seen),
            **in_both_languages("fix", finding.fix),
            "command": finding.command,
        }
        for finding in result.findings
    ]
    return {
        "kind": "check",
        "id": result.id,
        "outcome": result.outcome.value,
        "settled": result.settled,
        **in_both_languages("because", result.because),
        **in_both_languages("title", result.title),
        "findings": findings,
    }


def report_entry(report: Report) -> Record:
    """A report: its verdict, its exit status, and the outcome of each check."""
    from healthcheck.core.records import exit_status  # noqa: PLC0415

    return {
        "kind": "report",
        "verdict": report.verdict.value,
        "exit_status": int(exit_status(report)),
        **in_both_languages("asked", report.asked),
        "checks": [check_entry(result) for result in report.results],
    }


def in_both_languages(name: str, text: str) -> dict[str, str]:
    """The text of a message in English and in Chinese."""
    from healthcheck.text.language import Language, translation  # noqa: PLC0415

    return {f"{name} {language.value}": translation(language).say(text) for language in Language}


if __name__ == "__main__":
    sys.exit(main())
