# ruff: noqa: INP001 - scripts are no package
"""Writes the table of docs/probe-options.md from the record of the options.

python scripts/make_probe_options.py            write it
python scripts/make_probe_options.py --check    write nothing; exit 1 if it is out of date
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from healthcheck.probe.options.record import Group, Option, options

PAGE = Path(__file__).resolve().parents[1] / "docs" / "probe-options.md"
BEGIN, END = "<!-- Written by scripts/make_probe_options.py from the record. -->\n", "<!-- end of the table -->\n"


def table() -> str:
    """All options, group by group."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for group in Group:
        yield f"\n### {group.value.capitalize()}\n"
        yield "| option | values | default | what it is | sends |"
        yield "|---|---|---|---|---|"
        yield from (_row(option) for option in options() if option.group is group)
    yield ""


def _row(option: Option) -> str:
    name = f"`{option.name}`" + (f", `{option.flag}`" if option.flag else "") + ("" if option.service else " †")
    cells = (name, option.kind.words, option.default, option.help, option.sends)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace('<', '&lt;') for cell in cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    wanted = f"{before}{BEGIN}{table()}{END}{after}"
    if asked.check:
        print("docs/probe-options.md is out of date" if wanted != text else "up to date", file=sys.stderr)
        return int(wanted != text)
    PAGE.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
