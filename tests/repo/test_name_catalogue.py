"""scripts/make_name_catalogue.py: the names that Python itself finds in a package, read without importing it."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from healthcheck.stages.plan.importable import Importable, read
from tests.support.template import ROOT

PACKAGE = {
    "vllm/__init__.py": """\
import typing
from .version import __version__
TABLE = {"Lazy": ".engine:Lazy"}
if typing.TYPE_CHECKING:
    from .engine import Lazy, OnlyForCheckers
else:
    def __getattr__(name):
        if name in TABLE:
            import importlib
            return getattr(importlib.import_module(".engine", __name__), name)
        raise AttributeError(name)
""",
    "vllm/version.py": "__version__ = '1'\n",
    "vllm/engine.py": """\
import os.path
import json as plain
from vllm.stars import *
class Lazy: ...
def function(): inner = 1
first, (second, *rest) = 1, (2, 3)
annotated: int = 1
bare: int
try:
    import no_such_package
except ImportError as problem:
    no_such_package = None
with open(os.devnull) as handle:
    pass
for step in (1, 2):
    pass
if (walrus := 1) > 0:
    chosen = [hidden for hidden in (1,)]
gone = 1
del gone
""",
    "vllm/stars.py": "from vllm.deeper import *\nstar = 1\n_private = 1\n",
    "vllm/deeper.py": "from .version import __version__ as deep\n",
    "vllm/open.py": "globals()['made'] = 1\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    for path, text in PACKAGE.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def catalogued(*releases: tuple[str, Path]) -> Importable:
    import make_name_catalogue as maker

    data: dict[str, object] = {}
    for version, tree in releases:
        data = maker.with_release(data, "vllm", version, maker.package(tree, "vllm"))
    return read(maker.text(data))["vllm"]


def test_the_names_are_those_that_an_import_finds(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = catalogued(("1.0", tree))
    monkeypatch.syspath_prepend(str(tree))
    before = set(sys.modules)
    try:
        for module in ("vllm", "vllm.engine", "vllm.stars", "vllm.deeper"):
            real = importlib.import_module(module)
            public = {name for name in vars(real) if not name.startswith("_")} - {
                "os",
                "plain",
                "typing",
            }
            submodules = {name for name in public if f"{module}.{name}" in sys.modules}
            found = known.names(module, "1.0")
            lazy = {name for name in found if not name.startswith("_") and hasattr(real, name)}
            assert found - {"__version__"} == (public - submodules) | lazy, module
    finally:
        for name in set(sys.modules) - before:
            del sys.modules[name]


def test_what_can_be_imported(tree: Path) -> None:
    known = catalogued(("1.0", tree))
    there = (
        ("vllm", "Lazy"),
        ("vllm", "engine"),
        ("vllm.engine", "os"),
        ("vllm.open", "anything"),
        ("vllm", "_any"),
    )
    for module, name in there:
        assert known.having(module, name) == {"1.0"}, (module, name)
    for module, name in (
        ("vllm", "OnlyForCheckers"),
        ("vllm.engine", "bare"),
        ("vllm.engine", "gone"),
        ("vllm.no", ""),
    ):
        assert not known.having(module, name), (module, name)


def test_releases_share_the_lines_that_do_not_change(tree: Path) -> None:
    (tree / "other" / "vllm").mkdir(parents=True)
    (tree / "other" / "vllm" / "__init__.py").write_text("Lazy = second = 1\n")
    releases = (("1.0", tree), ("3.0", tree / "other"), ("2.0", tree))
    known = catalogued(*releases)
    assert known.releases == ("1.0", "2.0", "3.0")
    assert known.having("vllm", "Lazy") == {"1.0", "2.0", "3.0"}
    assert known.having("vllm", "second") == {"3.0"}
    assert known.having("vllm.engine") == {"1.0", "2.0"}
    assert known.modules["vllm.stars"] == {"1.0..2.0": "star / deep"}
    assert json.dumps(known.modules) == json.dumps(
        catalogued(*releases, ("3.0", tree / "other")).modules
    )
