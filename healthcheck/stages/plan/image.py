"""The service's image in the dry run: its folders, and the programs and libraries with a stub."""

from __future__ import annotations

from pathlib import Path

STUBS_FOLDER = Path(__file__).resolve().parent / "dry_run" / "stubs"
IMAGE_SOURCES = "/vllm-workspace/"
IMAGE_FOLDERS = (f"{IMAGE_SOURCES}vllm", f"{IMAGE_SOURCES}vllm-ascend", "/workspace")
"""Folders of the official vllm-ascend image, the last one empty; the service's image is unknown.

Source: its Dockerfile.
"""
IMAGE_PACKAGES = "/usr/local/python3/lib/python3/site-packages/"
"""Where the stubs of libraries claim to be installed: it has their folders, but few of their files."""
STUBS = {
    script: tuple(names.split())
    for script, _, names in (
        line.partition(":") for line in (STUBS_FOLDER / "programs.txt").read_text("ascii").splitlines()
    )
}
"""The programs that each stub script replaces."""
VARIABLES = dict(line.split("=", 1) for line in (STUBS_FOLDER / "environment.txt").read_text("ascii").split())
"""What the image sets, as CANN's images do, on which vllm-ascend's are built. Source: their Dockerfiles."""
STUBBED = frozenset(name for names in STUBS.values() for name in names)
"""The programs that stubs replace as long as the script keeps the search path."""
