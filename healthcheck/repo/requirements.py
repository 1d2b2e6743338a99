"""Requirements files, read as pip reads them: each line's requirement, and the lines that pip would refuse.

Sources: pip's documentation of the requirements file format, and PEP 508 by way of `packaging`.
"""

from __future__ import annotations

import codecs
import enum
import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from healthcheck.messages import msg

MAX_LINE = 20_000
MAX_ENTRIES = 5_000
COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")
VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
URL = re.compile(r"(?:(?:git|hg|svn|bzr)\+)?[a-z][a-z0-9.]*://|(?:git|hg|svn|bzr)\+|file:", re.IGNORECASE)
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lz")
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
HASH = re.compile(r"(sha256:[0-9a-fA-F]{64}|sha384:[0-9a-fA-F]{96}|sha512:[0-9a-fA-F]{128})")
WITH_VALUE = {
    "--requirement", "--constraint", "--editable", "--index-url", "--pypi-url", "--extra-index-url", "--find-links",
    "--no-binary", "--only-binary", "--trusted-host", "--use-feature", "--hash", "--global-option",
    "--config-settings", "--config-setting",
}  # fmt: skip
ALONE = {"--no-index", "--prefer-binary", "--require-hashes", "--pre", "--always-unzip"}
SHORT = {"-r": "--requirement", "-c": "--constraint", "-e": "--editable", "-i": "--index-url", "-f": "--find-links",
         "-C": "--config-settings", "-Z": "--always-unzip"}  # fmt: skip
OF_A_REQUIREMENT = {"--hash", "--global-option", "--config-settings", "--config-setting"}
LINUX = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "extra": "",
         "platform_python_implementation": "CPython", "implementation_name": "cpython"}  # fmt: skip
PYTHONS = ("3.10", "3.11", "3.12")
MACHINES = ("aarch64", "x86_64")


class Form(enum.Enum):
    """The kind of a line of a requirements file."""

    PACKAGE = "package"
    URL = "URL"
    PATH = "path"
    EDITABLE = "editable"
    INCLUDE = "-r"
    CONSTRAINT = "-c"
    OPTION = "option"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One logical line.

    Attributes:
        line: its first physical line, from 1.
        text: without comment, continuation lines joined.
        name: the normalised name of the package if it is known, else "".
        target: the URL, path or included file; the option for an option line.
        hashes: as written, "sha256:…".
        problem: why pip refuses the line, "" if it does not.
        ignored: options after a requirement that pip silently ignores there.
    """

    file: str
    line: int
    text: str
    form: Form
    name: str = ""
    requirement: Requirement | None = None
    target: str = ""
    hashes: tuple[str, ...] = ()
    problem: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def quoted(self) -> str:
        """Its text as a message quotes it."""
        return self.text

    @property
    def installs(self) -> bool:
        return self.form in {Form.PACKAGE, Form.URL, Form.PATH, Form.EDITABLE}

    def applies(self) -> bool:
        """Whether its marker lets it be installed on Linux under any Python that the kit knows of."""
        marker = self.requirement.marker if self.requirement else None
        if marker is None:
            return True
        return any(
            marker.evaluate(
                LINUX | {"python_version": v, "python_full_version": f"{v}.9", "platform_machine": machine}
            )
            for v in PYTHONS
            for machine in MACHINES
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One requirements file. `problem` says why nothing of it can be read; `remark` what else is odd about it."""

    path: str
    entries: tuple[Entry, ...]
    problem: str = ""
    remark: str = ""


def read(path: str, data: bytes) -> File:
    """Read one file; what pip would refuse becomes a problem of the file or of an entry, never an exception."""
    text, problem, remark = _decode(data)
    if problem:
        return File(path=path, entries=(), problem=problem)
    entries: list[Entry] = []
    for line, content in _logical_lines(text):
        if len(entries) >= MAX_ENTRIES:
            return File(
                path=path,
                entries=tuple(entries),
                problem=msg("more than {max_entries} lines are not read", MAX_ENTRIES),
            )
        entries.append(_entry(path, line, content))
    return File(path=path, entries=tuple(entries), remark=remark)


def included(file: str, target: str) -> str | None:
    """The path in the repository that `-r target` in `file` names; None if it leads out of it."""
    if URL.match(target) and not target.startswith("file:"):
        return None
    if posixpath.isabs(target) or target.startswith(("file:", "~")) or "\0" in target:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    return None if path == ".." or path.startswith("../") else path


def includes(file: File) -> tuple[str, ...]:
    """The files of the repository that a requirements file includes with -r or -c."""
    forms = {Form.INCLUDE, Form.CONSTRAINT}
    named = (included(file.path, entry.target) for entry in file.entries if entry.form in forms)
    return tuple(path for path in named if path is not None)


def _decode(data: bytes) -> tuple[str, str, str]:
    for mark, encoding in MARKS:
        if data.startswith(mark):
            remark = "" if encoding == "utf-8" else msg("the file is {upper}", encoding.upper())
            try:
                return data[len(mark) if encoding == "utf-8" else 0 :].decode(encoding), "", remark
            except UnicodeDecodeError as error:
                return (
                    "",
                    msg(
                        "it begins as {upper} and is not: {reason} at byte {start}",
                        encoding.upper(),
                        error.reason,
                        error.start,
                    ),
                    "",
                )
    if b"\0" in data:
        return "", msg("it has NUL bytes: it is binary, or UTF-16 without byte order mark"), ""
    for line in data.split(b"\n", 2)[:2]:
        cookie = COOKIE.match(line)
        if cookie:
            return _as_declared(data, cookie.group(1).decode("ascii", "replace"))
    try:
        return data.decode("utf-8"), "", ""
    except UnicodeDecodeError as error:
        line_number = data.count(b"\n", 0, error.start) + 1
        return (
            "",
            msg(
                "line {line_number} is not UTF-8 (byte 0x{data:02x}), comments count too",
                line_number,
                data[error.start],
            ),
            "",
        )


def _as_declared(data: bytes, encoding: str) -> tuple[str, str, str]:
    try:
        return data.decode(encoding), "", ""
    except (LookupError, UnicodeError):
        return "", msg("it is not in the encoding {encoding} that it declares", repr(encoding)), ""


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines as pip joins them: a backslash continues, a comment ends, blank lines vanish."""
    begun, parts = 0, []  # type: tuple[int, list[str]]
    for number, line in enumerate(text.splitlines(), 1):
        short = line if len(line) <= MAX_LINE else ""
        comment = short.lstrip().startswith("#")
        if line.endswith("\\") and not comment:
            begun = begun or number
            parts.append(line.strip("\\"))
            continue
        parts.append(f" {line}" if comment else line)
        yield from _content(begun or number, "".join(parts))
        begun, parts = 0, []
    if parts:
        yield from _content(begun, "".join(parts))


def _content(number: int, line: str) -> Iterator[tuple[int, str]]:
    content = line if len(line) > MAX_LINE else COMMENT.sub("", line).strip()
    if content:
        yield number, content


def _entry(path: str, line: int, content: str) -> Entry:
    blank = Entry(file=path, line=line, text=content[:200], form=Form.INVALID)
    if len(content) > MAX_LINE:
        return replace(blank, problem=msg("a line of {content} characters", len(content)))
    words = content.split(" ")
    first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    body, tail = " ".join(words[:first]).strip(), " ".join(words[first:])
    try:
        options = _options(shlex.split(tail))
    except ValueError as error:
        return replace(blank, problem=str(error))
    if not body:
        return _option_line(blank, options)
    hashes = tuple(value for name, value in options if name == "--hash")
    bad = next((value for value in hashes if not HASH.fullmatch(value)), None)
    if bad is not None:
        return replace(
            blank, problem=msg("--hash={bad} is not a sha256, sha384 or sha512 in hexadecimal digits", bad[:80])
        )
    ignored = tuple(name for name, _ in options if name not in OF_A_REQUIREMENT)
    return replace(_requirement(blank, body), hashes=hashes, ignored=ignored)


def _options(words: list[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        name, equals, value = word.partition("=")
        if not word.startswith("--") and word[:2] in SHORT:
            name, equals, value = SHORT[word[:2]], word[2:], word[2:].removeprefix("=")
        name = _whole_name(name, word)
        if name in WITH_VALUE and not equals:
            if not waiting:
                raise ValueError(msg("{word} needs a value", word))
            value = waiting.pop()
        found.append((name, value))
    return found


def _whole_name(name: str, word: str) -> str:
    known = [option for option in WITH_VALUE | ALONE if option == name]
    known = known or [option for option in WITH_VALUE | ALONE if name.startswith("--") and option.startswith(name)]
    if len(known) != 1:
        raise ValueError(msg("pip takes no {word} in a requirements file", word))
    return known[0]


def _option_line(blank: Entry, options: list[tuple[str, str]]) -> Entry:
    for name, value in options:
        if name == "--requirement":
            return replace(blank, form=Form.INCLUDE, target=value)
        if name == "--constraint":
            return replace(blank, form=Form.CONSTRAINT, target=value)
        if name == "--editable":
            named = _requirement(blank, value) if URL.match(value) else blank
            return replace(named, form=Form.EDITABLE, target=value, problem="")
    return replace(blank, form=Form.OPTION, target=options[0][0] if options else "")


def _requirement(blank: Entry, body: str) -> Entry:
    bare = body.partition("; ")[0].strip()
    if URL.match(bare):
        return replace(blank, form=Form.URL, target=bare, name=_name_of(bare))
    path = bare.rpartition("[")[0] if bare.endswith("]") else bare
    if path.lower().endswith(ARCHIVES) and "@" not in path:
        return replace(blank, form=Form.PATH, target=path, name=_name_of(path))
    try:
        requirement = Requirement(body)
    except (InvalidRequirement, RecursionError) as error:
        if "@" not in bare and (bare.startswith((".", "/")) or ("/" in bare and "//" not in bare)):
            return replace(blank, form=Form.PATH, target=path)
        return replace(blank, problem=_reason(body, str(error)))
    form = Form.URL if requirement.url else Form.PACKAGE
    name = canonicalize_name(requirement.name)
    return replace(blank, form=form, requirement=requirement, name=name, target=requirement.url or "")


def _name_of(target: str) -> str:
    """The package that a URL or a file name gives, "" if it gives none."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return ""
    egg = re.search(r"(?:^|&)egg=([A-Za-z0-9._-]+)", parts.fragment)
    if egg:
        return canonicalize_name(egg.group(1))
    file = unquote(parts.path).rpartition("/")[2][:300]
    try:
        return parse_wheel_filename(file)[0] if file.endswith(".whl") else _source_name(file)
    except InvalidWheelFilename:
        return _source_name(file)


def _source_name(file: str) -> str:
    found = re.match(
        r"([A-Za-z][A-Za-z0-9._-]*?)(?:[-_]v?\d[^/]*)?(?:\.git|\.whl|\.zip|\.tar\.\w+|\.tgz)?(?:@.*)?$", file
    )
    return canonicalize_name(found.group(1)) if found else ""


def _reason(body: str, said: str) -> str:
    said = said.splitlines()[0] if said else ""
    if re.match(r"(?:!?\s*(?:python3? -m )?pip3?|conda|uv|apt|apt-get)\s+\w+", body):
        return msg("it is a command, and a requirements file names packages")
    if re.match(r"[\w.\[\]-]+\s*=[^=]", body):
        return msg("a single = is not an operator; pip pins with ==")
    if body.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return msg("it is a mark of an unresolved merge")
    return said
