# ruff: noqa: INP001 - scripts are no package
"""Writes docs/known-failures.md and its Chinese twin in docs/zh from healthcheck/data/failures.yaml.

python scripts/make_failures_page.py            write them
python scripts/make_failures_page.py --check    write nothing; exit 1 and list what is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from failures_page_words import COMMA, EDITIONS, KIND, KINDS, REPAIR, SHARE, SOURCE, VARIABLES, Edition
from make_check_pages import ROOT, escaped

from healthcheck.language import translation
from healthcheck.service.catalogue import FILE, Failure, Severity, catalogue


class Row(NamedTuple):
    """A sample of logs, and how many of them the table named how."""

    sample: str
    logs: int
    named: int
    by_cause: int
    by_kind: int | None
    wrongly: int
    missed: int
    elsewhere: int


FIRST = (
    Row("1, the half that only measures, with the table as it was before", 82, 18, 18, None, 15, 33, 16),
    Row("1, the same half, with the table that the other half built", 82, 52, 52, None, 0, 13, 17),
    Row("2, kinds of errors that sample 1 lacked", 66, 30, 30, None, 3, 6, 27),
    Row("3, what general searches showed", 26, 6, 6, None, 1, 5, 14),
    Row("4, models and features by classes of exceptions", 39, 10, 10, None, 0, 2, 27),
    Row("5, subsystems; the table now has kinds", 45, 24, 5, 19, 4, 6, 11),
    Row("6, stamps of vLLM's log lines", 45, 29, 13, 16, 3, 8, 5),
    Row("7, stamps of other lines", 41, 29, 7, 22, 1, 8, 3),
    Row("8, the words of torch_npu and of one rank", 41, 35, 21, 14, 3, 1, 2),
    Row("9, stamps of other releases, codes of CANN", 25, 21, 15, 6, 3, 1, 0),
    Row("10, kinds of deployments, stamps of the newest releases", 36, 20, 5, 15, 2, 6, 8),
    Row("11, subsystems and classes; only the last error is named from here on", 38, 25, 4, 21, 0, 7, 6),
    Row("12, models, releases and classes", 39, 32, 8, 24, 1, 2, 4),
    Row("13, messages that the table has a cause for", 24, 22, 20, 2, 2, 0, 0),
    Row("14, models, releases, hardware; many causes now count as kinds", 43, 25, 5, 20, 1, 7, 10),
    Row("15, dates of log stamps, files of vllm_ascend", 49, 40, 6, 34, 0, 3, 6),
)
"""When a sample was first measured; by_kind is None before the table had kinds."""
NOW = (
    Row("1, the half that builds", 102, 99, 41, 58, 0, 0, 3),
    Row("1, the half that only measured", 82, 80, 40, 40, 0, 0, 2),
    Row("2", 66, 55, 23, 32, 0, 1, 10),
    Row("3", 26, 22, 7, 15, 0, 0, 4),
    Row("4", 39, 37, 10, 27, 0, 0, 2),
    Row("5", 45, 40, 2, 38, 0, 0, 5),
    Row("6", 45, 43, 14, 29, 0, 0, 2),
    Row("7", 41, 39, 2, 37, 0, 0, 2),
    Row("8", 41, 39, 7, 32, 0, 0, 2),
    Row("9", 25, 25, 7, 18, 0, 0, 0),
    Row("10", 36, 29, 6, 23, 0, 0, 7),
    Row("11", 38, 32, 4, 28, 0, 0, 6),
    Row("12", 39, 35, 7, 28, 0, 0, 4),
    Row("13", 24, 24, 21, 3, 0, 0, 0),
    Row("14", 43, 30, 5, 25, 0, 3, 10),
    Row("15", 49, 40, 6, 34, 0, 3, 6),
)
_SECTION = re.compile(r"^# --- (?P<title>[\w ,]+?) -*$|^- id: (?P<id>\S+)$", re.MULTILINE)


def text(edition: Edition) -> str:
    """The whole page in one language."""
    failures = {failure.id: failure for failure in catalogue().failures}
    kinds = (edition.say(KIND).format(kind, edition.say(does), edition.say(kind)) for kind, does in KINDS.items())
    prose = edition.prose.read_text("utf-8").format(
        kinds="\n".join(kinds), first=_rows(FIRST, edition), now=_rows(NOW, edition), **_counts(failures.values())
    )
    parts = [prose.rstrip()]
    for title, id_ in _order():
        parts += [f"## {edition.say(title[0].upper() + title[1:])}"] if title else _entry(failures[id_], edition)
    return "\n\n".join(parts) + "\n"


def _rows(rows: Iterable[Row], edition: Edition) -> str:
    """The lines of a table of samples."""
    lines = []
    for sample, logs, named, by_cause, by_kind, *others in rows:
        share = edition.say(SHARE).format(named, 100 * named / logs)
        cells = (edition.say(sample), logs, share, by_cause, "–" if by_kind is None else by_kind, *others)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _counts(failures: Iterable[Failure]) -> dict[str, int]:
    """How many logs were measured, and how many causes, symptoms and kinds the table holds."""
    severities = [failure.severity for failure in failures]
    general = severities.count(Severity.SYMPTOM) + severities.count(Severity.KIND)
    causes = len(severities) - general - severities.count(Severity.GENERIC)
    return {"logs": sum(row.logs for row in NOW), "causes": causes, "general": general}


def _order() -> Iterator[tuple[str, str]]:
    """The headings and the entries of the file, as they follow each other."""
    for match in _SECTION.finditer(FILE.read_text("utf-8")):
        yield match["title"] or "", match["id"] or ""


def _entry(failure: Failure, edition: Edition) -> Iterator[str]:
    catalogued = translation(edition.language).say
    comma = edition.say(COMMA)
    yield f"### {failure.id}"
    yield f"```text\n{failure.examples[0]}\n```"
    yield f"*{edition.say(failure.severity.name.lower())}* · {escaped(catalogued(failure.cause))}"
    yield edition.say(REPAIR).format(escaped(catalogued(failure.fix)))
    if failure.variables:
        variables = comma.join(f"`{each.name}={each.value}`" for each in failure.variables)
        yield edition.say(VARIABLES).format(variables)
    yield edition.say(SOURCE).format(comma.join(_source(edition.source(each)) for each in failure.sources))


def _source(source: str) -> str:
    issue = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", source)
    if issue:
        return f"[{issue[1]} {issue[2]}]({source})"
    return f"<{source}>" if source.startswith("https://") else escaped(source)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = {edition.page: text(edition) for edition in EDITIONS}
    stale = [page for page, said in wanted.items() if not page.exists() or page.read_text("utf-8") != said]
    for page in stale:
        if options.check:
            print(f"out of date: {page.relative_to(ROOT)}", file=sys.stderr)
        else:
            page.write_text(wanted[page], "utf-8")
    return int(options.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
