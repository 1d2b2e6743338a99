"""Bounded, safe YAML. The only user of PyYAML."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, cast

from healthcheck.core.records import JsonValue
from healthcheck.errors import KitError
from healthcheck.text.messages import Message, msg

if TYPE_CHECKING:
    import yaml

MAX_CHARACTERS = 256 * 1024
"""PyYAML reads some ten thousand a second."""
MAX_DEPTH = 100
MAX_VALUES = 100_000
"""Values with every alias written out: nine lists of nine aliases each are 400 million."""


class YamlError(KitError):
    """The text is not YAML, or contains more than plain data; the message says where."""


class YamlBoundError(YamlError):
    """The text may be YAML but exceeds the bounds."""


def load(text: str) -> JsonValue:
    """Parse one YAML document of plain data.

    Raises:
        YamlBoundError: the document exceeds the bounds.
        YamlError: the text is not YAML, or contains more than plain data.
    """
    import yaml  # noqa: PLC0415 - most commands read no YAML

    if len(text) > MAX_CHARACTERS:
        raise YamlBoundError(
            msg(
                "more than {max_characters} characters of YAML, which are not read",
                max_characters=MAX_CHARACTERS,
            )
        )
    try:
        return cast("JsonValue", yaml.load(text, _loader()))  # noqa: S506 - a SafeLoader with bounds
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(" ".join(str(error).split())) from error


@functools.cache
def _loader() -> type[yaml.SafeLoader]:
    import yaml  # noqa: PLC0415

    class Bounded(yaml.SafeLoader):
        """Counts while it composes, before anything is written out; `sizes` has values and depth of each node."""

        def __init__(self, stream: str) -> None:
            super().__init__(stream)
            self.sizes: dict[int, tuple[int, int]] = {}
            self.depth = 0

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            alias = self.check_event(yaml.AliasEvent)
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise YamlBoundError(_too_large())
            node = super().compose_node(parent, index)
            self.depth -= 1
            if alias and id(node) not in self.sizes:  # it contains itself
                raise YamlBoundError(_too_large())
            if node is not None and not alias:
                self.sizes[id(node)] = self._size(node)
            return node

        def _size(self, node: yaml.Node) -> tuple[int, int]:
            pairs = node.value if isinstance(node, yaml.MappingNode) else ()
            below = [each for pair in pairs for each in pair]
            below += node.value if isinstance(node, yaml.SequenceNode) else ()
            sizes = [self.sizes[id(each)] for each in below]
            values, depth = (
                1 + sum(size[0] for size in sizes),
                1 + max((size[1] for size in sizes), default=0),
            )
            if values > MAX_VALUES or depth > MAX_DEPTH:
                raise YamlBoundError(_too_large())
            return values, depth

    return Bounded


def _too_large() -> Message:
    return msg(
        "YAML of more than {max_values} values or {max_depth} levels, aliases counted, which is not read",
        max_values=MAX_VALUES,
        max_depth=MAX_DEPTH,
    )
