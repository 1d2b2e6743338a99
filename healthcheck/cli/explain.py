"""`npu-adapter explain`: the page of a check, or the list of the checks."""

from __future__ import annotations

import argparse

from healthcheck.core.extensions import extra_checks
from healthcheck.text.language import translation_of_the_process
from healthcheck.verify import catalogue


def run(options: argparse.Namespace) -> int:
    say, extra = translation_of_the_process().look_up, extra_checks()
    listed = [page for page in catalogue.pages(extra) if options.id in {None, page.stage.name}]
    if listed:
        for page in listed:
            print(f"{page.id:<28} {say(page.title)}")
        return 0
    print(catalogue.text(catalogue.page(options.id, extra), say), end="")
    return 0
