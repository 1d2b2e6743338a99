"""The repair of a known failure, worded for the repository that was launched.

A server option is changed in adapter.toml if the repository has one, else in deploy.sh. A variable that the
committed files already set is not recommended again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck import contract
from healthcheck.errors import UsageError
from healthcheck.stages.plan.records import SETTINGS
from healthcheck.stages.service.catalogue import FLAG, Failure, message_of
from healthcheck.stages.service.evidence import Hit
from healthcheck.system import files
from healthcheck.text.messages import Message, joined, msg

PACKAGE = "adapter"
_MOST_BYTES = 2**18
_MOST_FILES = 40
_KEY = re.compile(r"^#? ?([a-z]\w{1,60}) = ", re.MULTILINE)
_VARIABLE = re.compile(r"""(?<![\w$])(?:["']([A-Z][A-Z\d_]{3,80})["']|([A-Z][A-Z\d_]{3,80})=)""")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_NOT_THE_SERVERS = frozenset({"break-system-packages", "help", "host", "port", "shm-size", "until"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The options and variables that a repository sets for its launch.

    Attributes:
        keys: the options that adapter.toml names, commented out or not; None if there is no adapter.toml.
        variables: the environment variables that deploy.sh and the package `adapter` name.
    """

    keys: frozenset[str] | None = None
    variables: frozenset[str] = frozenset()


UNKNOWN = Setup()
"""The setup if the repository is not available."""


def setup_of(repository: Path) -> Setup:
    """Read adapter.toml, deploy.sh and the package `adapter`; links and unreadable files count as absent."""
    settings = _text(repository / SETTINGS)
    package = repository / PACKAGE
    modules = () if package.is_symlink() else sorted(package.glob("*.py"))[:_MOST_FILES]
    sources = (repository / contract.ENTRY_POINT, *modules)
    code = "\n".join(_COMMENT.sub("", _text(path) or "") for path in sources)
    return Setup(
        keys=None if settings is None else frozenset(_KEY.findall(settings)),
        variables=frozenset(quoted or assigned for quoted, assigned in _VARIABLE.findall(code)),
    )


def repair(hit: Hit, setup: Setup = UNKNOWN) -> str:
    """The repair of the failure in one paragraph, the log's own advice last."""
    said = repair_of(hit.failure, setup)
    return (
        msg("{said} The log itself advises: “{advice}”", said=said, advice=hit.advice)
        if hit.advice
        else said
    )


def repair_of(failure: Failure, setup: Setup = UNKNOWN) -> str:
    """The repair that the table has for the failure."""
    exports = [
        f"{name}={value}"
        for name, value in failure.variables.items()
        if name not in setup.variables
    ]
    said = failure.fix if setup.keys is None else _by_keys(failure.fix, setup.keys)
    return (
        msg("{said} In deploy.sh, export {exports}.", said=said, exports=joined(" and ", exports))
        if exports
        else said
    )


def _by_keys(text: str, keys: frozenset[str]) -> Message:
    """Replace options by keys of adapter.toml; the last sentences name that file."""
    flags = tuple(
        dict.fromkeys(flag for flag in FLAG.findall(text) if flag not in _NOT_THE_SERVERS)
    )
    own = {flag: flag.replace("-", "_") for flag in flags if flag.replace("-", "_") in keys}
    others = [f"--{flag}" for flag in flags if flag not in own]
    said = message_of(text, own)
    if own:
        said = msg(
            "{said} In adapter.toml, set {listed}.", said=said, listed=_listed(tuple(own.values()))
        )
    return (
        msg(
            "{said} In adapter.toml, add {listed} to extra_args.", said=said, listed=_listed(others)
        )
        if others
        else said
    )


def _listed(words: Sequence[str]) -> str:
    return (
        words[0]
        if len(words) == 1
        else msg("{listed} or {last}", listed=", ".join(words[:-1]), last=words[-1])
    )


def _text(path: Path) -> str | None:
    if path.is_symlink():
        return None
    try:
        return files.read_bounded(path, _MOST_BYTES).decode("utf-8", "replace")
    except UsageError:
        return None
