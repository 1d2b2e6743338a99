"""npu-adapter explain: the page of a check."""

from __future__ import annotations

import argparse

from healthcheck.text.language import translation_of_the_process
from healthcheck.verify import catalogue


def run(options: argparse.Namespace) -> int:
    say = translation_of_the_process().look_up
    if options.id is None:
        for page in catalogue.pages():
            print(f"{page.id:<28} {say(page.title)}")
        return 0
    print(catalogue.text(catalogue.page(options.id), say), end="")
    return 0
