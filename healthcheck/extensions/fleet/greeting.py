"""A node's first answer: the packages of the kit that it lacks. It requires none of them."""

from __future__ import annotations

import importlib
import sys

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


def missing() -> str:
    """The packages that cannot be imported, with blanks between them."""
    return " ".join(package for name, package in NEEDED.items() if not _is_there(name))


def _is_there(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001 - a broken installation raises anything
        return False
    return True
