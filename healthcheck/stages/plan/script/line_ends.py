"""The command that repairs line ends."""

from __future__ import annotations

import posixpath
import shlex

from healthcheck.core.commands import Commanded
from healthcheck.text.messages import msg


def line_end_repair(*files: str) -> Commanded:
    """How to end the lines of committed files in LF, now and after the next checkout."""
    names = shlex.join(files)
    patterns = [shlex.quote(f"{posixpath.normpath(file)} text eol=lf") for file in files]
    kept = " && ".join(f"echo {pattern} >> .gitattributes" for pattern in patterns)
    committed = f"git add {names} .gitattributes && git commit -m 'End lines in LF'"
    return Commanded(
        msg("end the lines of {file} in LF", file=", ".join(files)),
        f"sed -i 's/\\r$//' {names} && {kept} && {committed}",
    )
