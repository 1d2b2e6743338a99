"""The pictures that the endpoint stage sends."""

from __future__ import annotations

import pytest

from healthcheck.stages.endpoint.pictures import pictures, png


def test_pictures_differ() -> None:
    assert len(set(pictures())) == 4


def test_pictures_are_what_an_image_library_reads() -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed here")
    import io

    with image.open(io.BytesIO(png(lambda x, y: (x, y, 7), side=8))) as opened:
        assert opened.convert("RGB").getpixel((3, 5)) == (3, 5, 7)
