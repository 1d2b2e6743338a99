"""Renders a template. The only user of copier."""

from __future__ import annotations

import contextlib
import errno
import io
import re
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from healthcheck.core.records import JsonValue
from healthcheck.errors import KitError, KitFailure, UsageError, reason_of
from healthcheck.scaffold import answers, template
from healthcheck.system import extras
from healthcheck.system.files import prefix
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg

COPIER = "copier"
_WRONG_ANSWER = re.compile(
    r"(?:Validation error for question|Invalid choice for) '(?P<name>\w+)': (?P<said>.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to render.

    Attributes:
        source: None for the kit's own template, else a git address or a folder.
        version: a git reference; "" for the newest tag, or the newest commit without tags.
        given: answers to its questions.
        defaults: answers to other questions, if they are not asked.
        ask: ask the other questions on the terminal.
    """

    source: str | None
    version: str = ""
    given: Mapping[str, JsonValue]
    defaults: Mapping[str, JsonValue]
    ask: bool = False


def render(order: Order, destination: Path) -> answers.Answers | None:
    """Render a template into a folder; returns the folder's answers file.

    Raises:
        UsageError: the template cannot be rendered, or refuses an answer.
        KitFailure: the disk is full.
    """
    with tempfile.TemporaryDirectory(prefix=prefix()) as scratch:
        if order.source is None:
            folder = Path(scratch) / "template"
            folder.mkdir()
            version = template.export(folder)
            if order.ask:
                template.ask_in_language(folder, translation_of_the_process().say)
            _copy(str(folder), None, order, destination)
            answers.record(destination, src_path=template.NAME, commit=version)
        else:
            _copy(order.source, order.version or None, order, destination)
    if not (destination / answers.ANSWERS_FILE).is_file():
        return None
    return answers.read(destination)


def _copy(source: str, reference: str | None, order: Order, destination: Path) -> None:
    copier = _copier()
    # Copier warns three times that a template has no tags, even with `quiet`.
    silence = contextlib.nullcontext() if order.ask else contextlib.redirect_stderr(io.StringIO())
    with warnings.catch_warnings(), silence:
        warnings.simplefilter("ignore")
        try:
            copier.run_copy(
                source, destination, data=dict(order.given), user_defaults=dict(order.defaults),
                defaults=not order.ask, vcs_ref=reference, quiet=True,
            )  # fmt: skip
        except copier.errors.CopierAnswersInterrupt as error:
            raise KeyboardInterrupt from error
        except (
            copier.errors.CopierError,
            ValueError,
            OSError,
            subprocess.SubprocessError,
        ) as error:
            raise _refusal(error, source, order, destination) from error


def _refusal(error: Exception, source: str, order: Order, destination: Path) -> KitError:
    """The error for a failed rendering: the cause is an answer, the destination, a full disk or the template."""
    wrong = _WRONG_ANSWER.fullmatch(str(error))
    if wrong:
        return UsageError(
            msg(
                "{wrong} is {get}: {one_line}",
                wrong=wrong["name"],
                get=repr(order.given.get(wrong["name"], "")),
                one_line=_one_line(wrong["said"]),
            )
        )
    unwritable = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES}
    if isinstance(error, OSError) and (
        error.errno in unwritable or error.filename == str(destination)
    ):
        why = msg("cannot write {path}: {reason}", path=destination, reason=reason_of(error))
        return KitFailure(why) if error.errno in {errno.ENOSPC, errno.EDQUOT} else UsageError(why)
    return UsageError(
        msg(
            "the template at {source} cannot be rendered: {one_line}",
            source=source,
            one_line=_one_line(error),
        )
    )


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


def _copier() -> ModuleType:
    try:
        import copier  # noqa: PLC0415 - an extra, and slow to import
        import copier.errors  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise UsageError(
            msg(
                "making a repository needs copier: {install_command}",
                install_command=extras.install_command(COPIER),
            )
        ) from error
    return copier
