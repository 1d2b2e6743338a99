"""The template of an earlier version, from a wheel in the repository."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from healthcheck.scaffold import earlier, template
from healthcheck.scaffold.answers import Answers


@pytest.mark.parametrize(("method", "kept"), [(zipfile.ZIP_DEFLATED, True), (zipfile.ZIP_BZIP2, False)])
def test_a_wheel_whose_size_cannot_be_bounded_is_not_unpacked(method: int, kept: bool, tmp_path: Path) -> None:
    (tmp_path / ".kit").mkdir()
    wheel = tmp_path / ".kit" / "npu_adapter_kit-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", method) as packed:
        packed.writestr("healthcheck/template/copier.yml", "a: b\n")
    made = Answers(source=template.NAME, version="1-0", rendering="", given={})
    assert earlier.unpack(tmp_path, made, tmp_path / "earlier") is None
    assert any((tmp_path / "earlier").rglob("copier.yml")) == kept
