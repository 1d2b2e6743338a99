"""What a build adds: the compiled catalogues of messages, and what a package index shows.

That are addresses of the project, and a README whose links and pictures lead there.

The address is that of the place that the package is built from: NPU_ADAPTER_ADDRESS, else the repository of the
workflow on GitHub, else that of the clone. Without one the links stay as they are in the repository.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<before>!?\[[^\]]*\]\()(?P<path>(?![a-z]+:|#)[^)\s]+)(?=\))")
PAGES = {
    "Documentation": "blob/{at}/docs/first-adapter.md",
    "Changelog": "blob/{at}/CHANGELOG.md",
    "Issues": "issues",
}


class Addresses(MetadataHookInterface):
    """Sets `readme` and `urls`."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, object]) -> None:
        """Called by hatchling with the metadata of pyproject.toml."""
        text = Path(self.root, "README.md").read_text("utf-8")
        place = address(Path(self.root))
        if place:
            at = os.environ.get("GITHUB_REF_NAME") or "main"
            text = absolute(text, place, at)
            metadata["urls"] = {"Source": place} | {
                name: f"{place}/{page.format(at=at)}" for name, page in PAGES.items()
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Catalogues(BuildHookInterface[BuilderConfig]):
    """Compiles each .po beside itself: an editable installation reads it there, and so does a wheel's builder."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Called by hatchling before it looks for files."""
        del version, build_data
        compile_catalogues(Path(self.root))


def compile_catalogues(root: Path) -> None:
    """As `pybabel compile` does, which takes the `% i` of "95 % interval" for a place, and fails."""
    for file in (root / "healthcheck" / "locale").rglob("*.po"):
        with file.open("rb") as text, file.with_suffix(".mo").open("wb") as compiled:
            write_mo(compiled, read_po(text, locale=file.parents[1].name))


def address(root: Path) -> str:
    """The address of the repository for a browser, "" if it has none."""
    environment = os.environ
    given = environment.get("NPU_ADAPTER_ADDRESS", "")
    if not given and environment.get("GITHUB_REPOSITORY"):
        given = f"{environment.get('GITHUB_SERVER_URL', '')}/{environment['GITHUB_REPOSITORY']}"
    if not given and (root / ".git").exists():
        command = ["git", "-C", str(root), "remote", "get-url", "origin"]
        given = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    parts = urlsplit(given)
    if parts.scheme != "https" or not parts.hostname:
        return ""
    return f"https://{parts.netloc.rpartition('@')[2]}{parts.path.removesuffix('.git').rstrip('/')}"


def absolute(text: str, place: str, at: str) -> str:
    """The Markdown with relative links as addresses: of pages to read, and of pictures as they are."""

    def replaced(link: re.Match[str]) -> str:
        kind = "raw" if link["before"].startswith("!") else "blob"
        return f"{link['before']}{place}/{kind}/{at}/{link['path']}"

    return _LINK.sub(replaced, text)


if __name__ == "__main__":
    compile_catalogues(Path(__file__).parent)
