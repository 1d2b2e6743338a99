"""`npu-adapter explain`: the page of a check."""

from __future__ import annotations

import argparse

from healthcheck.core.extensions import extra_checks
from healthcheck.text.language import translation_of_the_process
from healthcheck.verify import catalogue


def run(options: argparse.Namespace) -> int:
    say, extra = translation_of_the_process().look_up, extra_checks()
    if options.id is None:
        for page in catalogue.pages(extra):
            print(f"{page.id:<28} {say(page.title)}")
        return 0
    print(catalogue.text(catalogue.page(options.id, extra), say), end="")
    return 0
