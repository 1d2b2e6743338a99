# ruff: noqa: INP001 - scripts are no package
"""Writes docs/report.schema.json, the JSON Schema of report.json, from the records of healthcheck/report/schema.py.

python scripts/make_report_schema.py            write it
python scripts/make_report_schema.py --check    write nothing; exit 1 if it is out of date
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from pathlib import Path
from typing import cast

import msgspec

from healthcheck.core.records import Edit, JsonValue
from healthcheck.report import schema
from healthcheck.report.recorded import Recorded
from healthcheck.system import json_text

_ATTRIBUTE = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
FILE = Path(__file__).resolve().parents[1] / "docs" / "report.schema.json"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = json_text.dump(_schema())
    if options.check:
        if FILE.read_bytes() == wanted:
            return 0
        print("docs/report.schema.json is out of date", file=sys.stderr)
        return 1
    FILE.write_bytes(wanted)
    return 0


def _schema() -> dict[str, JsonValue]:
    """The JSON Schema (draft 2020-12), each property with its description."""
    made = msgspec.json.schema(schema.ReportDocument)
    definitions = cast("dict[str, dict[str, JsonValue]]", made["$defs"])
    for record in (
        Recorded,
        Edit,
        schema.FindingDocument,
        schema.CheckDocument,
        schema.ReportDocument,
    ):
        described = definitions[record.__name__]
        about, descriptions = _documented(record)
        described["description"] = about
        for name, shape in cast("dict[str, dict[str, JsonValue]]", described["properties"]).items():
            shape["description"] = descriptions[name]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "report.json of npu-adapter",
        **made,
    }


def _documented(record: type) -> tuple[str, dict[str, str]]:
    """The description of a record and of each attribute, from its docstring."""
    about, _, attributes = inspect.getdoc(record).partition("\n\nAttributes:\n")  # type: ignore[union-attr]
    found = _ATTRIBUTE.findall(attributes)
    return " ".join(about.split()), {name: " ".join(text.split()) for name, text in found}


if __name__ == "__main__":
    sys.exit(main())
