"""The service's image in the dry run: its folders, and the programs and libraries with a stub."""

from __future__ import annotations

import re
from pathlib import Path

from healthcheck.engines import known
from healthcheck.system.files import DATA

STUBS_FOLDER = Path(__file__).resolve().parent / "dry_run" / "stubs"
IMAGE_SOURCES = "/vllm-workspace/"
IMAGE_FOLDERS = (f"{IMAGE_SOURCES}vllm", f"{IMAGE_SOURCES}vllm-ascend", "/workspace")
"""Folders of the official vllm-ascend image, the last one empty; the service's image is unknown.

Source: its Dockerfile.
"""
IMAGE_PACKAGES = "/usr/local/python3/lib/python3/site-packages/"
"""Where the stubs of libraries claim to be installed: it has their folders, but few of their files."""
SERVER_STUB = "server.sh"


def _stubs() -> dict[str, tuple[str, ...]]:
    text = (STUBS_FOLDER / "programs.txt").read_text("ascii")
    listed = (line.partition(":") for line in text.splitlines())
    stubs = {script: tuple(names.split()) for script, _, names in listed}
    others = known.PROGRAMS.difference(*stubs.values())
    return {**stubs, SERVER_STUB: (*stubs[SERVER_STUB], *sorted(others))}


STUBS = _stubs()
"""The programs that each stub script replaces; those that start a known engine are servers."""
VARIABLES = dict(
    line.split("=", 1) for line in (STUBS_FOLDER / "environment.txt").read_text("ascii").split()
)
"""What the image sets, as CANN's images do, on which vllm-ascend's are built. Source: their Dockerfiles."""
STUBBED = frozenset(name for names in STUBS.values() for name in names)
"""The programs that stubs replace as long as the script keeps the search path."""


def _groups() -> tuple[frozenset[str], ...]:
    text = (DATA / "image-programs.txt").read_text("ascii")
    parts = re.split(r"^(?! ).*$", text, flags=re.MULTILINE)
    return tuple(frozenset(part.split()) for part in parts if part.strip())


_BASE, _ADDED, _OF_PYTHON, _UNCERTAIN = _groups()
REAL_PROGRAMS = _BASE | _ADDED
"""Programs of the image that a dry run takes from this machine, if it has them and no stub replaces them."""
PLACEHOLDERS = (_OF_PYTHON | _UNCERTAIN) - STUBBED
"""Programs that the image has, or may have, and for which the dry run only has placeholders."""
INSTALLED_ONLY = frozenset({
    "nginx", "haproxy", "caddy", "npm", "envsubst", "unbuffer", "supervisord", "supervisorctl", "tmux", "screen",
})  # fmt: skip
"""Programs with a stub that do not exist until the script or requirements.txt installs their package.

Other servers that the image lacks exist, and plan/engine-installed judges them, as the service's image is unknown.
"""
OTHER_ENGINES = frozenset(STUBS[SERVER_STUB]) - INSTALLED_ONLY - REAL_PROGRAMS - _OF_PYTHON
"""Servers that the official vllm-ascend image lacks, and that another image of the service may have."""
_JQ_SINCE_CANN = (8, 3)
"""CANN's images have jq since 8.3.rc2. Source: their Dockerfiles."""


def lacking(script: str, cann: str) -> frozenset[str]:
    """The programs with a stub or on this machine that the script does not find before it installs them.

    Of the servers that the image lacks, these are the ones that the script looks for (`command -v sglang`): it is
    meant to take the branch that installs them.
    """
    others = STUBBED - REAL_PROGRAMS - _OF_PYTHON
    looked_for = {name for name in others if looks_for(script, name)}
    version = tuple(map(int, re.findall(r"\d+", cann)[:2]))
    return (
        INSTALLED_ONLY
        | looked_for
        | ({"jq"} if version and version < _JQ_SINCE_CANN else frozenset())
    )


def engines_looked_for(script: str) -> tuple[str, ...]:
    """The engines that the script asks for and the official vllm-ascend image lacks."""
    return tuple(name for name in sorted(OTHER_ENGINES) if looks_for(script, name))


def looks_for(script: str, program: str) -> bool:
    """Whether a shell script asks if there is a program."""
    return (
        re.search(
            rf"\b(?:command -[vV]|which|type|hash)\s+(?:-\w+\s+)?{re.escape(program)}(?![\w.-])",
            script,
        )
        is not None
    )


def may_be_in_image(path: str) -> bool:
    """Whether the official vllm-ascend image may have a file at an absolute path."""
    return path.startswith((IMAGE_SOURCES, IMAGE_PACKAGES)) or path in IMAGE_FOLDERS
