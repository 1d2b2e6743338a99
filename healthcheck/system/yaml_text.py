"""Safe YAML. The only user of PyYAML."""

from __future__ import annotations

from typing import cast

from healthcheck.core.records import JsonValue
from healthcheck.errors import KitError


class YamlError(KitError):
    """The text is not YAML, or contains more than plain data; the message says where."""


def load(text: str) -> JsonValue:
    """Parse one YAML document of plain data.

    Raises:
        YamlError: the text is not YAML, or contains more than plain data.
    """
    import yaml  # noqa: PLC0415 - most commands read no YAML

    try:
        return cast("JsonValue", yaml.safe_load(text))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(" ".join(str(error).split())) from error
