"""npu-adapter explain: the page of a check."""

from __future__ import annotations

import argparse

from healthcheck import catalogue
from healthcheck.cli.parsing import exit_statuses
from healthcheck.language import of_the_process


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = exit_statuses({0: "printed", 2: "there is no such check"})
    parser.add_argument("id", nargs="?", metavar="CHECK-ID", help="such as plan/port; without it, all are listed")


def run(options: argparse.Namespace) -> int:
    say = of_the_process()
    if options.id is None:
        for page in catalogue.pages():
            print(f"{page.id:<28} {say(page.title)}")
        return 0
    print(catalogue.text(catalogue.page(options.id), say), end="")
    return 0
