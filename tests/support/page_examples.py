"""The example of a check's page and its repair, as `npu-adapter explain` prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from healthcheck.verify import catalogue

_BLOCK = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE, REPAIRED = "\nExample:\n", "\nUse instead"
WITHOUT = {
    "plan/self-contained": "a summary of other checks",
}
"""Pages without an example, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """The blocks of an example by subject ("deploy.sh", "header of model.safetensors"), "" for a block without one.

    Attributes:
        right: also has the subjects of `wrong` that the repair does not change.
    """

    wrong: dict[str, str]
    right: dict[str, str]


def example(page: catalogue.Page) -> Example:
    _, _, rest = page.body.partition(EXAMPLE)
    before, _, after = rest.partition(REPAIRED)
    return Example(wrong=_blocks(before), right={**_blocks(before), **_blocks(after)})


def _blocks(text: str) -> dict[str, str]:
    return {subject: content for _, subject, content in _BLOCK.findall(text)}


def pages(*stages: str) -> list[catalogue.Page]:
    """The pages of these stages that have an example."""
    return [
        page for page in catalogue.pages() if page.stage.name in stages and page.id not in WITHOUT
    ]
