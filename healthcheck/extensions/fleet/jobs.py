"""The job file: TOML, JSON lines or CSV, one row per job.

TOML has a table `[[job]]` for each job, and `[defaults]` for all of them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from healthcheck.core.stages import Stage, stage_named
from healthcheck.errors import UsageError
from healthcheck.extensions.fleet.options import Verify
from healthcheck.extensions.fleet.pack import HASH
from healthcheck.extensions.fleet.records import Job, Source
from healthcheck.report.words import plain
from healthcheck.system import files, json_text, toml_text
from healthcheck.system.json_text import JsonError
from healthcheck.system.toml_text import TomlError
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import joined, msg
from healthcheck.text.redact import without_secrets

MAX_FILE_BYTES = 4 * 2**20
MAX_JOBS = 10_000
MOST_ERRORS = 20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
OWN_KEYS = ("name", "repository", "weights", "task", "until", "npus", "npu")
NOT_FOR_JOBS = {
    **dict.fromkeys(
        ("out", "json", "junit", "quiet", "verbose"),
        msg("the fleet names the reports of its jobs itself"),
    ),
    "fix": msg("a fleet changes no repository"),
    "url": msg("a job is a repository; `npu-adapter verify --url` looks at a running server"),
}
_JOB_TABLE = re.compile(rb"[ \t]*\[\[[ \t]*job[ \t]*\]\]")


Row = tuple[str, Mapping[str, object]]
"""The place of a row (file and line) for messages, and its values as written."""


def read(path: Path, verify: Verify, every: Mapping[str, object] | None = None) -> tuple[Job, ...]:
    """The jobs of a file; `every` has values for all jobs, with precedence over the file.

    Raises:
        UsageError: the file cannot be read, or rows are wrong; the message names each with file and line.
    """
    readers = {".toml": _toml, ".jsonl": _jsonl, ".csv": _csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(msg("{path}: a job file ends in .toml, .jsonl or .csv", path=path))
    found = reader(files.read_bounded(path, MAX_FILE_BYTES), str(path))
    rows = [(where, {**values, **(every or {})}) for where, values in found]
    if not rows:
        how = msg(": write a [[job]] for each") if reader is _toml else ""
        raise UsageError(msg("{path} has no job{value}", path=path, value=how))
    if len(rows) > MAX_JOBS:
        raise UsageError(
            msg(
                "{path} has {rows} jobs; at most {max_jobs} are taken",
                path=path,
                rows=len(rows),
                max_jobs=MAX_JOBS,
            )
        )
    return _jobs(rows, path.absolute().parent, verify)


def _jobs(rows: Sequence[Row], folder: Path, verify: Verify) -> tuple[Job, ...]:
    jobs: dict[str, Job] = {}
    wrong = []
    for where, values in rows:
        job = _job_or_why(values, where, folder, verify)
        if isinstance(job, Job) and job.name.lower() in jobs:
            other = jobs[job.name.lower()]
            job = msg(
                "the name {name} is that of {where} too: give each job its own `name`",
                name=job.name,
                where=other.where,
            )
        if isinstance(job, Job):
            jobs[job.name.lower()] = job
        else:
            wrong.append(msg("{where}: {job}", where=where, job=job))
    if wrong:
        more = (
            msg("\nand {wrong} more", wrong=len(wrong) - MOST_ERRORS)
            if len(wrong) > MOST_ERRORS
            else ""
        )
        raise UsageError(joined("\n", wrong[:MOST_ERRORS]) + more)
    return tuple(jobs.values())


def _job_or_why(
    written: Mapping[str, object], where: str, folder: Path, verify: Verify
) -> Job | str:
    """The job of a row, or the error in it."""
    try:
        return _job(written, where, folder, verify)
    except UsageError as error:
        return plain(without_secrets(str(error)))


def _job(written: Mapping[str, object], where: str, folder: Path, verify: Verify) -> Job:
    allowed = {key for key in verify.options if key not in NOT_FOR_JOBS} | set(OWN_KEYS)
    values = {key.strip().replace("-", "_"): value for key, value in written.items()}
    for key in values:
        if key in NOT_FOR_JOBS:
            raise UsageError(
                msg(
                    "`{key}` is not for a job: {not_for_jobs}",
                    key=key,
                    not_for_jobs=NOT_FOR_JOBS[key],
                )
            )
        if key not in allowed:
            near = hint(key, sorted(allowed))
            raise UsageError(
                msg(
                    "no option of `npu-adapter verify` and no key of a job is called `{key}`{hint}",
                    key=key,
                    hint=near,
                )
            )
    source = _source_of(_text(values, "repository"), folder)
    name = _text(values, "name") if "name" in values else _name_of(source)
    if not NAME.fullmatch(name):
        raise UsageError(
            msg(
                "{name} cannot be the name of a job, which names a folder: letters, digits, '.', '_' and "
                "'-', at most 80 of them, a letter or digit first",
                name=repr(name),
            )
        )
    given = ((key, value) for key, value in values.items() if key not in {"name", "repository"})
    words = [word for key, value in given for word in verify.options[key].words(value, folder)]
    verify.refuse(words)
    digest = hashlib.sha256(
        without_secrets("\0".join((source.shown, source.commit, *sorted(words)))).encode()
    )
    return Job(
        name=name,
        source=source,
        weights=str(folder / Path(_text(values, "weights")).expanduser())
        if "weights" in values
        else "",
        until=stage_named(_text(values, "until")) if "until" in values else Stage.PROBE,
        npus=int(str(values.get("npus", 0))),
        npu=_text(values, "npu") if "npu" in values else "",
        words=tuple(words),
        digest=digest.hexdigest()[:16],
        folder=str(folder),
        where=where,
    )


def _text(values: Mapping[str, object], key: str) -> str:
    value = values.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(msg("`{key}` is missing or not a text", key=key))
    return value.strip()


def _source_of(text: str, folder: Path) -> Source:
    """The repository that a text names, relative to a folder.

    Raises:
        UsageError: there is none, or an address lacks its commit.
    """
    if "://" not in text:
        place = folder / Path(text).expanduser()
        if not place.is_dir():
            raise UsageError(
                msg(
                    "there is no folder {place}: `repository` is a folder or an address with a commit",
                    place=place,
                )
            )
        return Source(place=str(place), shown=str(place))
    address, _, commit = text.rpartition("@")
    if not HASH.fullmatch(commit) or "://" not in address:
        raise UsageError(
            msg(
                "{shown}: the address of a repository ends in @ and its commit in full (40 digits), as a branch "
                "moves",
                shown=without_secrets(text),
            )
        )
    scheme, _, rest = address.partition("://")
    authority, slash, path = rest.partition("/")
    shown = without_secrets(f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}")
    if scheme.lower() not in {"https", "http", "ssh", "git", "file"}:
        raise UsageError(
            msg(
                "{shown}: a repository is fetched over https, ssh or from a file:// address",
                shown=shown,
            )
        )
    return Source(place=address, shown=shown, commit=commit)


def _name_of(source: Source) -> str:
    return Path(
        source.place.partition("?")[0] if source.is_address else source.place
    ).name.removesuffix(".git")


def _toml(data: bytes, file: str) -> Iterator[Row]:
    try:
        table = toml_text.load(data, file)
    except TomlError as error:
        raise UsageError(without_secrets(str(error))) from error
    unknown = next((key for key in table if key not in {"job", "defaults"}), None)
    if unknown is not None:
        raise UsageError(
            msg(
                "{file}: no table is called {unknown}{hint}; write [[job]] for each job, and [defaults]",
                file=file,
                unknown=repr(unknown),
                hint=hint(unknown, ("job", "defaults")),
            )
        )
    defaults, jobs = table.get("defaults", {}), table.get("job", [])
    if not isinstance(defaults, dict) or not isinstance(jobs, list):
        raise UsageError(
            msg(
                "{file}: write [[job]] for each job, and [defaults] for what all of them have",
                file=file,
            )
        )
    lines = [
        number for number, line in enumerate(data.splitlines(), start=1) if _JOB_TABLE.match(line)
    ]
    for place, values in enumerate(jobs):
        where = (
            f"{file}:{lines[place]}"
            if len(lines) == len(jobs)
            else msg("{file}, job {place}", file=file, place=place + 1)
        )
        if not isinstance(values, dict):
            raise UsageError(msg("{where}: a job is a table", where=where))
        yield where, {**defaults, **values}


def _jsonl(data: bytes, file: str) -> Iterator[Row]:
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            values = json_text.load(line)
        except JsonError as error:
            raise UsageError(
                msg("{file}:{number}: not JSON: {error}", file=file, number=number, error=error)
            ) from error
        if not isinstance(values, dict):
            raise UsageError(
                msg(
                    '{file}:{number}: a job is an object, such as {{"repository": …}}',
                    file=file,
                    number=number,
                )
            )
        yield f"{file}:{number}", values


def _csv(data: bytes, file: str) -> Iterator[Row]:
    """An empty cell is a missing key; a cell that begins with [ is a list in JSON."""
    try:
        reader = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        head = next(reader, [])
        for cells in reader:
            where = f"{file}:{reader.line_num}"
            if len(cells) > len(head):
                raise UsageError(
                    msg(
                        "{where}: {cells} cells under {head} names",
                        where=where,
                        cells=len(cells),
                        head=len(head),
                    )
                )
            given = {key: cell for key, cell in zip(head, cells, strict=False) if cell.strip()}
            if given:
                yield where, {key: _cell(cell, where) for key, cell in given.items()}
    except (csv.Error, UnicodeDecodeError) as error:
        raise UsageError(
            msg("{file} is not CSV in UTF-8: {error}", file=file, error=error)
        ) from error


def _cell(cell: str, where: str) -> object:
    if not cell.lstrip().startswith("["):
        return cell
    try:
        return json_text.load(cell)
    except JsonError as error:
        raise UsageError(
            msg(
                "{where}: a cell that begins with [ is a list in JSON: {error}",
                where=where,
                error=error,
            )
        ) from error
