# ruff: noqa: INP001 - scripts are no package
"""Writes docs/known-failures.md from healthcheck/data/failures.yaml.

python scripts/make_failures_page.py            write it
python scripts/make_failures_page.py --check    write nothing; exit 1 if it is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from make_check_pages import escaped

from healthcheck.service.catalogue import FILE, Failure, Severity, catalogue

PAGE = Path(__file__).resolve().parents[1] / "docs" / "known-failures.md"
HEAD = """\
<!-- Written by scripts/make_failures_page.py from healthcheck/data/failures.yaml. -->

# Known failures

What `npu-adapter diagnose LOGFILE` and [service/starts](checks/service/starts.md) look for in the log of a launch,
why it happens, and what helps. In a repository with `adapter.toml` the repair names the key of that file; a
variable that the launch sets already is not recommended again. The table holds {causes} causes and {general}
symptoms and kinds of errors. The answer is one of four:

- A *cause*: a known failure that the last error shows. The last error is the last traceback or group of error
  lines; in a chain of exceptions, its first; before "see root cause above", the worker's. Five lines around it
  count as well. Where the last error is one that follows from others (a worker gone, a wrapper), the cause is the
  only failure that the rest of the log holds.
- *Possible causes*: another place of the log shows a known failure too, or several do. All are listed, and none
  counts as named; the exit status is 3. What came before the server had started, or before it answered, is no
  possible cause.
- The *kind* of the last error, if it shows no known cause: what the line says and where to look. It names no cause.
- Nothing: the last error block; in a log without a line that looks like an error, its last lines.

{kinds}

## How well it does

Measured on 22 and 23 November 2026 on {logs} logs of 2025 and 2026 from public issues and texts, mostly of
vllm-ascend and vLLM. Each is its few decisive lines, the issue, and the cause that the thread established or that
the lines say (`tests/service/data/*failure_logs.toml`).

- In a sample is a log that shows a failure of a launch, or of a server that ran, with its decisive line. Left out
  are requests for features, questions, pull requests, complaints about accuracy without an error, training, builds,
  logs cut before their decisive line, and a message that an earlier log has, but for its digits.
- *Named* is what the table names rightly, out of all logs: by a cause, or by the kind alone. Either is right if its
  sentence is true of the log.
- *Wrongly* is a name whose sentence is not true of the log.
- *Cause elsewhere* are logs whose cause or kind the table does not hold and for which it rightly names none.

When a sample was first measured, before the table had seen a line of it:

| sample | logs | named | by a cause | by the kind alone | wrongly | missed | cause elsewhere |
|---|---|---|---|---|---|---|---|
| 1, the half that only measures, with the table as it was before | 82 | 18 (22 %) | 18 | – | 15 | 33 | 16 |
| 1, the same half, with the table that the other half built | 82 | 52 (63 %) | 52 | – | 0 | 13 | 17 |
| 2, kinds of errors that sample 1 lacked | 66 | 30 (45 %) | 30 | – | 3 | 6 | 27 |
| 3, what general searches showed | 26 | 6 (23 %) | 6 | – | 1 | 5 | 14 |
| 4, models and features by classes of exceptions | 39 | 10 (26 %) | 10 | – | 0 | 2 | 27 |
| 5, subsystems; the table now has kinds | 45 | 24 (53 %) | 5 | 19 | 4 | 6 | 11 |
| 6, stamps of vLLM's log lines | 45 | 29 (64 %) | 13 | 16 | 3 | 8 | 5 |
| 7, stamps of other lines | 41 | 29 (71 %) | 7 | 22 | 1 | 8 | 3 |
| 8, the words of torch_npu and of one rank | 41 | 35 (85 %) | 21 | 14 | 3 | 1 | 2 |
| 9, stamps of other releases, codes of CANN | 25 | 21 (84 %) | 15 | 6 | 3 | 1 | 0 |
| 10, kinds of deployments, stamps of the newest releases | 36 | 20 (56 %) | 5 | 15 | 2 | 6 | 8 |
| 11, subsystems and classes; only the last error is named from here on | 38 | 25 (66 %) | 4 | 21 | 0 | 7 | 6 |
| 12, models, releases and classes | 39 | 32 (82 %) | 8 | 24 | 1 | 2 | 4 |
| 13, messages that the table has a cause for | 24 | 22 (92 %) | 20 | 2 | 2 | 0 | 0 |
| 14, models, releases, hardware; many causes now count as kinds | 43 | 25 (58 %) | 5 | 20 | 1 | 7 | 10 |
| 15, dates of log stamps, files of vllm_ascend | 49 | 40 (82 %) | 6 | 34 | 0 | 3 | 6 |

With the table as it is now. It was repaired after each of these but the last: only sample 15 is new to it.

| sample | logs | named | by a cause | by the kind alone | wrongly | missed | cause elsewhere |
|---|---|---|---|---|---|---|---|
{now}

What to expect of a failure that nobody has looked at yet, by sample 15: of 49 logs 40 (82 %) were named, 6 by a
cause and 34 by the kind alone, and none (by 95 % confidence, fewer than 6 %) wrongly. Of the 43 logs of sample 14,
which searched for other things, 25 (58 %) were named and 1 (2 %) wrongly, a cause; the table was repaired between
the two. Samples 11 and 12, of an earlier reading, had 57 (74 %) of 77 and 1 wrong; samples 5 to 10 had 158 (68 %)
of 233, 66 of them by a cause, and 16 (7 %) wrong.

What to expect of a cause, by samples 11 to 15: of 46 causes 3 (7 %; by 95 % confidence, fewer than 16 %) were
wrong. All 3 entries are now narrower or name no cause; the 6 causes of sample 15 were right, and are too few to say
more. So wrong causes are rare and not impossible: read the lines that are quoted with one before acting on it.
Sample 13 was searched by messages that the table knows, so its share of named logs says nothing.

- Why the earlier names were wrong: the text of a kind claimed a cause (most of them); a pattern was wider than its
  sentence; a general entry was named where a special one was right. So kinds and many former causes now repeat the
  line, and count as kinds; samples 1 to 10 have fewer causes than when they were measured.
- The facts have six lines at most, so they do not show that a recovered error, a consequence or another process's
  traceback is passed over; made-up logs do (`tests/service/test_evidence.py`).
- Before sample 14 each entry was read for other faults that print its line: some 65 causes now say what "leads to
  this", and those that other faults share name no cause any more. So fewer logs are named by a cause than before.
- Samples 8 to 15 were labelled with the table's names in memory and judged again where a name came out that had not
  been thought of: in 1, 3, 3, 1, 1 and 4 logs of samples 8 to 13 the sentence of that entry was true, and it counts
  as right.
- Samples 9 to 15 had 40, 41, 41, 43, 35, 45 and 57 logs until a comparison by message showed that some repeat
  others.
- The logs were found by searching for errors, so their shares are not those of failures at large, and who built the
  table also chose and judged them. A log of your own has more lines: more to go by, and more to be misled by.
"""
NOW = (
    "| 1, the half that builds | 102 | 99 (97 %) | 41 | 58 | 0 | 0 | 3 |",
    "| 1, the half that only measured | 82 | 80 (98 %) | 40 | 40 | 0 | 0 | 2 |",
    "| 2 | 66 | 55 (83 %) | 23 | 32 | 0 | 1 | 10 |",
    "| 3 | 26 | 22 (85 %) | 7 | 15 | 0 | 0 | 4 |",
    "| 4 | 39 | 37 (95 %) | 10 | 27 | 0 | 0 | 2 |",
    "| 5 | 45 | 40 (89 %) | 2 | 38 | 0 | 0 | 5 |",
    "| 6 | 45 | 43 (96 %) | 14 | 29 | 0 | 0 | 2 |",
    "| 7 | 41 | 39 (95 %) | 2 | 37 | 0 | 0 | 2 |",
    "| 8 | 41 | 39 (95 %) | 7 | 32 | 0 | 0 | 2 |",
    "| 9 | 25 | 25 (100 %) | 7 | 18 | 0 | 0 | 0 |",
    "| 10 | 36 | 29 (81 %) | 6 | 23 | 0 | 0 | 7 |",
    "| 11 | 38 | 32 (84 %) | 4 | 28 | 0 | 0 | 6 |",
    "| 12 | 39 | 35 (90 %) | 7 | 28 | 0 | 0 | 4 |",
    "| 13 | 24 | 24 (100 %) | 21 | 3 | 0 | 0 | 0 |",
    "| 14 | 43 | 30 (70 %) | 5 | 25 | 0 | 3 | 10 |",
    "| 15 | 49 | 40 (82 %) | 6 | 34 | 0 | 3 | 6 |",
)
KINDS = {
    Severity.FATAL: "names the cause",
    Severity.ERROR: "names the cause if the last error shows it; elsewhere it may have been survived",
    Severity.SYMPTOM: "repeats what the last error says, and names no cause",
    Severity.KIND: "names the kind of the last error, where no other entry is found",
    Severity.WARNING: "seldom ends a launch by itself",
    Severity.GENERIC: "a wrapper around a cause that stands elsewhere in the log; never named as the cause",
}
_SECTION = re.compile(r"^# --- (?P<title>[\w ,]+?) -*$|^- id: (?P<id>\S+)$", re.MULTILINE)


def text() -> str:
    """The whole page."""
    failures = {failure.id: failure for failure in catalogue().failures}
    kinds = "\n".join(f"- *{severity.name.lower()}*: {words}." for severity, words in KINDS.items())
    parts = [HEAD.format(kinds=kinds, now="\n".join(NOW), **_counts(failures.values())).rstrip()]
    for title, id_ in _order():
        parts += [f"## {title[0].upper()}{title[1:]}"] if title else _entry(failures[id_])
    return "\n\n".join(parts) + "\n"


def _counts(failures: Iterable[Failure]) -> dict[str, int]:
    """How many logs were measured, and how many causes, symptoms and kinds the table holds."""
    severities = [failure.severity for failure in failures]
    general = severities.count(Severity.SYMPTOM) + severities.count(Severity.KIND)
    causes = len(severities) - general - severities.count(Severity.GENERIC)
    return {"logs": sum(int(row.split("|")[2]) for row in NOW), "causes": causes, "general": general}


def _order() -> Iterator[tuple[str, str]]:
    """The headings and the entries of the file, as they follow each other."""
    for match in _SECTION.finditer(FILE.read_text("utf-8")):
        yield match["title"] or "", match["id"] or ""


def _entry(failure: Failure) -> Iterator[str]:
    yield f"### {failure.id}"
    yield f"```text\n{failure.examples[0]}\n```"
    yield f"*{failure.severity.name.lower()}* · {escaped(failure.cause)}"
    yield f"Repair: {escaped(failure.fix)}"
    if failure.variables:
        yield "Variables: " + ", ".join(f"`{each.name}={each.value}`" for each in failure.variables) + "."
    yield "Source: " + ", ".join(map(_source, failure.sources)) + "."


def _source(source: str) -> str:
    issue = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", source)
    if issue:
        return f"[{issue[1]} {issue[2]}]({source})"
    return f"<{source}>" if source.startswith("https://") else escaped(source)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    stale = not PAGE.exists() or PAGE.read_text("utf-8") != text()
    if parser.parse_args().check:
        if stale:
            print(f"out of date: docs/{PAGE.name}", file=sys.stderr)
        return int(stale)
    PAGE.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
