"""The outputs of the commands that judge: reports and progress on the terminal, in files, on GitHub."""

from __future__ import annotations

import argparse
import os
import signal
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from healthcheck.cli.outlets import tell
from healthcheck.cli.places import new_place
from healthcheck.core.extensions import NONE, Extra, extra_checks
from healthcheck.core.progress import Progress, Silent
from healthcheck.core.records import Outcome, Report, exit_status
from healthcheck.errors import ExitStatus, KitFailure, UsageError, reason_of
from healthcheck.text.language import translation_of_the_process, wrapped
from healthcheck.text.messages import msg

if TYPE_CHECKING:
    from healthcheck.stages.probe.records import ProbeRun

STDOUT = Path("-")
SCREEN = 40
"""Lines that fit a screen."""


def arguments(group: argparse._ActionsContainer) -> None:
    json_argument(group, msg("the report"))
    group.add_argument(
        "--junit", type=new_place, metavar="FILE", help=msg("write the report as JUnit XML")
    )
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument(
        "--quiet",
        action="store_true",
        help=msg("no progress; a line for each problem, and the verdict"),
    )
    loudness.add_argument(
        "--verbose",
        action="store_true",
        help=msg("every step on standard error, and every check in the result"),
    )


def extensions_argument(group: argparse._ActionsContainer) -> None:
    """Declare `--no-extensions`, for all commands alike."""
    group.add_argument(
        "--no-extensions",
        action="store_true",
        help=msg("leave out the checks of other distributions (see `npu-adapter doctor`)"),
    )


def extension_checks(options: argparse.Namespace, judged: Path | None = None) -> Extra:
    """The checks of extensions, none with `--no-extensions`; nothing is loaded from the repository `judged`."""
    return NONE if options.no_extensions else extra_checks(judged)


def json_argument(group: argparse._ActionsContainer, what: str) -> None:
    """Declare `--json`, for all commands alike."""
    told = msg("write {what} as JSON; - is standard output", what=what)
    group.add_argument("--json", type=new_place, metavar="FILE", help=told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """The result of writing a report."""

    status: int
    """The exit status of the verdict, or `ExitStatus.KIT_FAILED` if an output could not be written."""
    folder: Path | None
    """The report folder, if one was requested and written."""
    page: Path | None
    """The page in the report folder."""


def progress(options: argparse.Namespace) -> Progress:
    """The requested listener."""
    if options.quiet:
        return Silent()
    translation = translation_of_the_process()
    if options.verbose:
        from healthcheck.report import lines  # noqa: PLC0415 - --help shows no report

        return lines.LineProgress(translation)
    from healthcheck.report import terminal  # noqa: PLC0415 - it imports rich

    return terminal.TerminalProgress(translation)


def end_with_a_report() -> None:
    """Let SIGTERM and SIGHUP (a closed session) end a run like Ctrl-C; nohup(1) is respected."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _as_ctrl_c)


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does: end the tasks of a running event loop, or interrupt anything else."""
    handler = signal.getsignal(signal.SIGINT)
    interrupt = handler if callable(handler) else signal.default_int_handler
    interrupt(number, frame)


def refuse_unwritable(json: Path | None, *others: Path | None, out: Path | None = None) -> None:
    """Before a run, check that each file and the report folder can be written. Only JSON may go to standard output.

    A missing report folder is created; any other missing folder is more likely a typing error.

    Raises:
        UsageError: one of them cannot be written.
    """
    if STDOUT in others:
        raise UsageError(msg("only --json can be -, standard output: name a file for the other"))
    for file in filter(None, (json, *others)):
        if file != STDOUT:
            _refuse_unwritable_file(file, out)
    if out:
        _try_to_write(out)


def _refuse_unwritable_file(file: Path, out: Path | None) -> None:
    try:
        kind = stat.S_IFMT(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        kind = stat.S_IFREG
    except OSError as error:
        raise UsageError(
            msg("cannot write {file}: {reason}", file=file, reason=reason_of(error))
        ) from error
    if kind == stat.S_IFDIR:
        raise UsageError(msg("cannot write {file}: it is a folder", file=file))
    if kind != stat.S_IFREG:
        return
    if not file.parent.is_dir() and not (out and file.parent.absolute() == out.absolute()):
        raise UsageError(
            msg(
                "cannot write {file}: there is no folder {parent}; make it first",
                file=file,
                parent=file.parent,
            )
        )
    _try_to_write(file.parent)


def _try_to_write(folder: Path) -> None:
    """Write a trial file to the folder, or to its nearest existing parent, and remove it.

    Each name of a missing folder is checked as well: it may be too long.
    """
    there = folder.absolute()
    try:
        while not _exists(there):
            there = there.parent
        for name in folder.absolute().relative_to(there).parts:
            _exists(there / name)
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise UsageError(
            msg(
                "cannot write to {folder}: {reason} ({there})",
                folder=folder,
                reason=reason_of(error),
                there=there,
            )
        ) from error


def _exists(path: Path) -> bool:
    """Whether a path exists; unlike Path.exists, this counts a dead link.

    Raises:
        OSError: the path cannot exist, for instance because the name is too long.
    """
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def verbose_argument(group: argparse._ActionsContainer) -> None:
    """Declare `--verbose` for commands that print at most a screen without it."""
    group.add_argument(
        "--verbose", action="store_true", help=msg("print everything, not only the first screen")
    )


def first_screen(lines: Iterable[str], options: argparse.Namespace) -> Iterator[str]:
    """The lines that fit a screen and the number of the others; with `--verbose`, all of them."""
    every = list(lines)
    most = len(every) if options.verbose or len(every) <= SCREEN else SCREEN - 1
    yield from every[:most]
    if len(every) > most:
        yield msg("… and {count} more lines: --verbose", count=len(every) - most)


def show(lines: Iterable[str], json: Path | None, record: Callable[[], object]) -> None:
    """Print a result that is not a report, and write it as JSON if requested; with `-`, print only the JSON.

    Raises:
        KitFailure: the file cannot be written.
    """
    from healthcheck.report import folder, words  # noqa: PLC0415
    from healthcheck.system import json_text  # noqa: PLC0415 - see progress()
    from healthcheck.text.redact import redacted, redactor  # noqa: PLC0415

    redact = redactor(os.environ)
    if json != STDOUT:
        say = translation_of_the_process().say
        print(words.without_controls(redact("\n".join(map(say, lines)))))
    if json:
        text = json_text.dump(redacted(json_text.plain(record()), redact))
        folder.save(json, text) if json != STDOUT else _to_stdout(text)


def paragraph(text: str, columns: int, indent: str) -> Iterator[str]:
    """Translate a text and wrap it at `columns`; lines after the first are indented."""
    first, *others = wrapped(translation_of_the_process().say(text), columns - len(indent))
    yield first
    yield from (indent + line for line in others)


def _to_stdout(text: bytes) -> None:
    """Print JSON without commands of a GitHub runner: `##[` occurs in its texts only."""
    sys.stdout.buffer.write(text.replace(b"##[", rb"##\u005b"))


def publish(
    options: argparse.Namespace,
    report: Report,
    out: Path | None = None,
    run: ProbeRun | None = None,
) -> Published:
    """Write the report to the files of the options and to the folder `out`, then show it.

    The verdict is printed last: an interruption while the page is written leaves no verdict without a page. A file
    that cannot be written is kept elsewhere, with a message: a full disk does not lose a run of hours.
    """
    from healthcheck.report import folder, github, machine  # noqa: PLC0415 - see progress()

    text = machine.render(report)
    translation = translation_of_the_process()
    kept = []
    if options.json and options.json != STDOUT:
        kept.append(_keep(options.json, lambda path: folder.save(path, text)))
    if options.junit:
        from healthcheck.report import junit  # noqa: PLC0415 - it imports an XML library

        kept.append(
            _keep(options.junit, lambda path: folder.save(path, junit.render(report, translation)))
        )
    written = None
    if out:
        pages = _pages_of(report, options)
        written = (
            out
            if _keep(out, lambda path: folder.write(path, report, run, translation, pages))
            else None
        )
    kept.append(written == out)
    page = written / folder.PAGE if written else None
    if options.json == STDOUT:
        _to_stdout(text)
    else:
        _show(options, report, page)
    if report.stopped and all(result.outcome is Outcome.SKIP for result in report.results):
        tell(
            msg(
                "{stopped} before any check finished; nothing was saved",
                stopped=report.stopped,
            )
        )
    if os.environ.get("GITHUB_ACTIONS") == "true":
        github.publish(report, translation)
    github.add_summary(github.ATOMGIT_SUMMARY, report, translation)
    status = exit_status(report) if all(kept) else ExitStatus.KIT_FAILED
    return Published(status=status, folder=written, page=page)


def _pages_of(report: Report, options: argparse.Namespace) -> dict[str, str]:
    """The documentation of the checks with findings, as `npu-adapter explain` prints it."""
    from healthcheck.report.words import is_wrong  # noqa: PLC0415 - see progress()

    wanted = [result for result in report.results if is_wrong(result)]
    if not wanted:
        return {}
    from healthcheck.verify import catalogue  # noqa: PLC0415 - see progress()

    extra = NONE if getattr(options, "no_extensions", True) else extra_checks()
    say = translation_of_the_process().look_up
    return {page.id: catalogue.text(page, say) for page in catalogue.pages_of(wanted, extra)}


def _show(options: argparse.Namespace, report: Report, page: Path | None) -> None:
    """Print the report as loudly as the options ask."""
    translation = translation_of_the_process()
    if options.quiet:
        from healthcheck.report import lines  # noqa: PLC0415 - see progress()

        print("\n".join(lines.brief(report, translation)))
        return
    from healthcheck.report import terminal  # noqa: PLC0415 - see progress()

    if options.verbose:
        terminal.show_everything(report, translation)
    else:
        terminal.show(report, translation, page=page)


def _keep(path: Path, write: Callable[[Path], None]) -> bool:
    """Write a file, or else a copy elsewhere; returns whether the file was written."""
    try:
        write(path)
    except KitFailure as error:
        tell(msg("{error}; {elsewhere}", error=error, elsewhere=_elsewhere(path, write)))
        return False
    return True


def _elsewhere(path: Path, write: Callable[[Path], None]) -> str:
    """Write the file to the temporary folder; returns its place, in words."""
    try:
        instead = Path(tempfile.mkdtemp(prefix="npu-adapter-report-")) / path.name
        write(instead)
    except (KitFailure, OSError):
        return msg("nor is there room for it in {folder}", folder=tempfile.gettempdir())
    return msg("it is in {instead}", instead=instead)
