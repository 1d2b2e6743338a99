"""The documentation site: docs/ as it is in the repository, with search. `make docs` builds it.

Chinese: `make docs DOCS_LANGUAGE=zh_CN` takes the translations in docs/locale/zh_CN, as far as there are any. Their
catalogues come from `sphinx-build -b gettext -c docs/site docs build/gettext`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import hatch_build  # noqa: E402 - it is beside pyproject.toml
from healthcheck import __version__  # noqa: E402

project = "npu-adapter-kit"
release = version = __version__
copyright = "the authors of npu-adapter-kit, Apache-2.0"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["site", "locale"]
language = "en"
locale_dirs = [str(ROOT / "docs" / "locale")]
gettext_compact = False
suppress_warnings = ["misc.highlighting_failure", "myst.header", "toc.not_included"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"npu-adapter-kit {__version__}"
html_favicon = "favicon.svg"
html_show_sphinx = False

_OUTSIDE = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>(?:\.\./)+[^)\s]+)\)")


def lead_outside(app: Sphinx, name: str, source: list[str]) -> None:
    """Links to files beside docs/ lead to the repository, and are plain text where its address is not known."""
    folder = (Path(app.srcdir) / name).parent
    place = hatch_build.address(ROOT)

    def replaced(link: re.Match[str]) -> str:
        path, hash_, anchor = link["path"].partition("#")
        file = (folder / path).resolve()
        if file.is_relative_to(Path(app.srcdir).resolve()):
            return link[0]
        target = f"{place}/blob/main/{file.relative_to(ROOT).as_posix()}{hash_}{anchor}"
        return f"[{link['text']}]({target})" if place else link["text"]

    source[0] = _OUTSIDE.sub(replaced, source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", lead_outside)
