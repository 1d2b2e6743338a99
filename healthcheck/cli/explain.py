"""npu-adapter explain: the page of a check."""

from __future__ import annotations

import argparse
import difflib

from healthcheck import catalogue
from healthcheck.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="CHECK-ID", help="such as plan/port; without it, all are listed")


def run(options: argparse.Namespace) -> int:
    pages = {page.id: page for page in catalogue.pages()}
    if options.id is None:
        for page in pages.values():
            print(f"{page.id:<28} {page.title}")
        return 0
    if options.id not in pages:
        near = difflib.get_close_matches(options.id, pages, n=3, cutoff=0.4)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"there is no check {options.id!r}{hint} `npu-adapter explain` lists them all")
    print(catalogue.text(pages[options.id]), end="")
    return 0
