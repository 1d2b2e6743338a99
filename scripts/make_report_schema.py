# ruff: noqa: INP001 - scripts are no package
"""Writes docs/report.schema.json, the JSON Schema of report.json, from the records of healthcheck/report/schema.py.

python scripts/make_report_schema.py            write it
python scripts/make_report_schema.py --check    write nothing; exit 1 if it is out of date
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from healthcheck.report import schema
from healthcheck.system import json_text

FILE = Path(__file__).resolve().parents[1] / "docs" / "report.schema.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = json_text.dump(schema.as_json())
    if options.check:
        if FILE.read_bytes() == wanted:
            return 0
        print("docs/report.schema.json is out of date", file=sys.stderr)
        return 1
    FILE.write_bytes(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
