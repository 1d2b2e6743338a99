"""YAML, read safely. The one user of PyYAML."""

from __future__ import annotations

from typing import cast

from healthcheck.errors import KitError
from healthcheck.records import JsonValue


class YamlError(KitError):
    """The text is not YAML, or has more than plain data; the message says where."""


def dump(value: JsonValue) -> str:
    """A YAML document of plain data, with keys in their order."""
    import yaml  # noqa: PLC0415 - most commands read no YAML

    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


def load(text: str) -> JsonValue:
    """Parse one YAML document of plain data.

    Raises:
        YamlError: it is not YAML, or asks for more than plain data.
    """
    import yaml  # noqa: PLC0415 - as above

    try:
        return cast("JsonValue", yaml.safe_load(text))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(" ".join(str(error).split())) from error
