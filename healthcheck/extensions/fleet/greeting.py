"""A node's first answer: its version of the kit, and the packages that it lacks. It requires none of them."""

from __future__ import annotations

import importlib
import sys

from healthcheck import __version__

NEEDED = {
    "httptools": "httptools",
    "jinja2": "jinja2",
    "msgspec": "msgspec",
    "packaging": "packaging",
    "psutil": "psutil",
    "yaml": "pyyaml",
    "requests": "requests",
    "rich": "rich",
    **({} if sys.version_info >= (3, 11) else {"tomli": "tomli"}),
    "tree_sitter": "tree-sitter",
    "tree_sitter_bash": "tree-sitter-bash",
    "urllib3": "urllib3",
}
"""The modules that the kit imports, with the names of their packages."""


def greet() -> dict[str, str]:
    """The version of the kit as "version", and as "missing" the packages that cannot be imported."""
    return {"version": __version__, "missing": " ".join(NEEDED[name] for name in NEEDED if not _is_there(name))}


def _is_there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001 - a broken installation raises anything
        return False
    return True
