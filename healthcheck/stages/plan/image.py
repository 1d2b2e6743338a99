"""The service's image as the dry run shows it: its folders, and the programs and libraries that have a stub."""

from __future__ import annotations

from pathlib import Path

STUBS_FOLDER = Path(__file__).resolve().parent / "dry_run" / "stubs"
IMAGE_SOURCES = "/vllm-workspace/"
IMAGE_FOLDERS = (f"{IMAGE_SOURCES}vllm", f"{IMAGE_SOURCES}vllm-ascend", "/workspace")
"""Folders of the official vllm-ascend image, the last one empty; which image the service has is unknown.

Source: its Dockerfile.
"""
IMAGE_PACKAGES = "/usr/local/python3/lib/python3/site-packages/"
"""Where the stubs of libraries say that they are installed: the folders are there, and few of the files."""
STUBS = {
    script: tuple(names.split())
    for script, _, names in (
        line.partition(":") for line in (STUBS_FOLDER / "programs.txt").read_text("ascii").splitlines()
    )
}
"""The programs that each script of stubs stands for."""
STUBBED = frozenset(name for names in STUBS.values() for name in names)
"""The programs that stubs replace wherever the search path is kept."""
