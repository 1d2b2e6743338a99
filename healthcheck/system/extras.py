"""Optional packages: how to install one into the environment that the kit runs in."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from importlib import metadata

from healthcheck.text.messages import msg

KIT = "npu-adapter-kit"


def install_command(package: str) -> str:
    """A command line that installs the package into the kit's environment, in a version that the kit supports.

    It names the package and not an extra of the kit: a kit from a clone or a wheel is on no index.
    """
    python = shlex.quote(sys.executable)
    has_pip = importlib.util.find_spec("pip") is not None
    install = (
        msg("{python} -m pip install", python=python)
        if has_pip
        else msg("uv pip install --python {python}", python=python)
    )
    return msg(
        "{install} {requirement}", install=install, requirement=shlex.quote(_requirement(package))
    )


def _requirement(package: str) -> str:
    """The requirement in the kit's own metadata; the bare name if the kit is not installed."""
    try:
        listed = metadata.requires(KIT) or ()
    except metadata.PackageNotFoundError:
        listed = ()
    wanted = (line.partition(";")[0].strip() for line in listed)
    return next(
        (line for line in wanted if re.match(rf"{re.escape(package)}(?![\w.-])", line)), package
    )
