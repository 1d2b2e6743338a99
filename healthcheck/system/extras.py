"""The packages that the kit can do without: how to add one to the environment that the kit runs in."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from importlib import metadata

from healthcheck.text.messages import msg

KIT = "npu-adapter-kit"


def install_command(package: str) -> str:
    """A command line that installs the package beside the kit, in a version that the kit can use.

    It names the package and no extra of the kit: a kit that came from a clone or a wheel is on no index.
    """
    python = shlex.quote(sys.executable)
    has_pip = importlib.util.find_spec("pip") is not None
    install = msg("{python} -m pip install", python) if has_pip else msg("uv pip install --python {python}", python)
    return msg("{install} {requirement}", install, shlex.quote(_requirement(package)))


def _requirement(package: str) -> str:
    """The requirement in the kit's own metadata; the bare name where the kit runs without being installed."""
    try:
        listed = metadata.requires(KIT) or ()
    except metadata.PackageNotFoundError:
        listed = ()
    wanted = (line.partition(";")[0].strip() for line in listed)
    return next((line for line in wanted if re.match(rf"{re.escape(package)}(?![\w.-])", line)), package)
