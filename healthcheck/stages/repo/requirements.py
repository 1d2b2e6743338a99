"""Parses requirements files as pip does, and finds the lines that pip would reject.

Sources: pip's documentation of the requirements file format, and PEP 508 as implemented by `packaging`.
"""

from __future__ import annotations

import codecs
import enum
import getopt
import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from healthcheck.text.messages import msg

MAX_LINE = 20_000
MAX_ENTRIES = 5_000
COMMENT = re.compile(r"(?:^|(?<=\s))#.*$")
VARIABLE = re.compile(r"\$\{[A-Z0-9_]+\}")
COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
URL = re.compile(
    r"(?:(?:git|hg|svn|bzr)\+)?[a-z][a-z0-9.]*://|(?:git|hg|svn|bzr)\+|file:", re.IGNORECASE
)
ARCHIVES = (
    ".whl",
    ".zip",
    ".tar.gz",
    ".tgz",
    ".tar",
    ".tar.bz2",
    ".tbz",
    ".tar.xz",
    ".txz",
    ".tlz",
    ".tar.lz",
)
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
HASH = re.compile(r"(sha256:[0-9a-fA-F]{64}|sha384:[0-9a-fA-F]{96}|sha512:[0-9a-fA-F]{128})")
OPTIONS = (
    "requirement=", "constraint=", "editable=", "index-url=", "pypi-url=", "extra-index-url=", "find-links=",
    "no-binary=", "only-binary=", "trusted-host=", "use-feature=", "hash=", "global-option=", "config-settings=",
    "config-setting=", "no-index", "prefer-binary", "require-hashes", "pre", "always-unzip",
)  # fmt: skip
"""Long names of the options, in getopt's notation: = marks an option with a value."""
SHORT = {"-r": "--requirement", "-c": "--constraint", "-e": "--editable", "-i": "--index-url", "-f": "--find-links",
         "-C": "--config-settings", "-Z": "--always-unzip"}  # fmt: skip
OF_A_REQUIREMENT = {"--hash", "--global-option", "--config-settings", "--config-setting"}
_SINGLE_PIN = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*(?:\[[\w,.-]+\])?)\s*=\s*(?P<version>\d[\w.+!]*)(?:=\w+)?"
)
_PIP_INSTALL = re.compile(
    r"!?\s*(?:python3? -m )?pip3?\s+install\s+(?P<packages>[^-\s'\"][^'\"|&;]*)"
)
LINUX = {"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux", "extra": "",
         "platform_python_implementation": "CPython", "implementation_name": "cpython"}  # fmt: skip
PLACES = [
    (version, {"platform_machine": name})
    for version in ("3.10", "3.11", "3.12")
    for name in ("aarch64", "x86_64")
]
"""The Pythons and machines, for one of which a requirement has to apply."""
LIMITING = {"==", "===", "~=", "<", "<="}


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
        line: number of the first physical line, from 1.
        text: the line without comment, with continuation lines joined.
        name: the normalised name of the package if it is known, else "".
        target: the URL, path or included file; the option for an option line.
        hashes: as written, "sha256:…".
        problem: why pip rejects the line, "" if it does not.
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
    def specifier(self) -> SpecifierSet:
        """The versions that the line allows."""
        return self.requirement.specifier if self.requirement else SpecifierSet()

    @property
    def is_limited(self) -> bool:
        """Whether the line pins a version or has an upper bound."""
        return any(each.operator in LIMITING for each in self.specifier)

    @property
    def exact_versions(self) -> tuple[str, ...]:
        """The versions that the line pins with == (without a wildcard) or ===."""
        exact = (each.version for each in self.specifier if each.operator in {"==", "==="})
        return tuple(version for version in exact if not version.endswith(".*"))

    @property
    def installs(self) -> bool:
        return self.form in {Form.PACKAGE, Form.URL, Form.PATH, Form.EDITABLE}

    def applies(self) -> bool:
        """Whether the environment marker holds on Linux for some Python and machine that the kit knows."""
        marker = self.requirement.marker if self.requirement else None
        if marker is None:
            return True
        places = (
            {"python_version": v, "python_full_version": f"{v}.9", **machine}
            for v, machine in PLACES
        )
        return any(marker.evaluate(LINUX | place) for place in places)


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One requirements file. `problem` says why it was not read in full; `remark` names an unusual encoding."""

    path: str
    entries: tuple[Entry, ...]
    problem: str = ""
    remark: str = ""


def read(path: str, data: bytes) -> File:
    """Read one file. What pip would reject becomes a `problem` of the file or of an entry, not an exception."""
    try:
        text, remark = _decode(data)
    except ValueError as problem:
        return File(path=path, entries=(), problem=problem.args[0])
    lines = list(islice(_logical_lines(text), MAX_ENTRIES + 1))
    entries = tuple(_entry(path, line, content) for line, content in lines[:MAX_ENTRIES])
    too_many = (
        msg("more than {max_entries} lines are not read", max_entries=MAX_ENTRIES)
        if len(lines) > MAX_ENTRIES
        else ""
    )
    return File(path=path, entries=entries, problem=too_many, remark=remark)


def intended(content: str) -> tuple[str, ...]:
    """The requirements that a refused line was meant to be; () if that is not certain.

    A single = pins, also in the form of conda (name=version=build), and a pip command names what it installs.
    """
    pinned = _SINGLE_PIN.fullmatch(content)
    if pinned:
        return (f"{pinned['name']}=={pinned['version']}",)
    command = _PIP_INSTALL.fullmatch(content)
    words = command["packages"].split() if command else []
    plain = all(_is_requirement(word) for word in words)
    return tuple(words) if words and plain else ()


def _is_requirement(word: str) -> bool:
    try:
        Requirement(word)
    except (InvalidRequirement, RecursionError):
        return False
    return True


def included(file: str, target: str) -> str | None:
    """The path in the repository that `-r target` in `file` names; None if it is outside the repository."""
    if URL.match(target) or target.startswith(("/", "~")) or "\0" in target:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    return None if path == ".." or path.startswith("../") else path


def includes(file: File) -> tuple[str, ...]:
    """The files of the repository that a requirements file includes with -r or -c."""
    forms = {Form.INCLUDE, Form.CONSTRAINT}
    named = (included(file.path, entry.target) for entry in file.entries if entry.form in forms)
    return tuple(path for path in named if path is not None)


def _decode(data: bytes) -> tuple[str, str]:
    """Decode a file into its text and a remark about an unusual encoding, or "".

    Raises:
        ValueError: the bytes cannot be decoded.
    """
    marked = next((encoding for mark, encoding in MARKS if data.startswith(mark)), "")
    if not marked and b"\0" in data:
        raise ValueError(msg("it has NUL bytes: it is binary, or UTF-16 without byte order mark"))
    cookies = map(COOKIE.match, data.split(b"\n", 2)[:2])
    declared = (
        ""
        if marked
        else next((found[1].decode("ascii", "replace") for found in cookies if found), "")
    )
    name = marked.upper().removesuffix("-SIG")
    try:
        text = data.decode(marked or declared or "utf-8")
    except (LookupError, UnicodeError) as error:
        if not isinstance(error, UnicodeDecodeError) or declared:
            why = msg(
                "it is not in the encoding {encoding} that it declares", encoding=repr(declared)
            )
        elif marked:
            why = msg(
                "it begins as {upper} and is not: {reason} at byte {start}",
                upper=name,
                reason=error.reason,
                start=error.start,
            )
        else:
            line, byte = data.count(b"\n", 0, error.start) + 1, data[error.start]
            why = msg(
                "line {line_number} is not UTF-8 (byte 0x{data:02x}), comments count too",
                line_number=line,
                data=byte,
            )
        raise ValueError(why) from error
    return text, msg("the file is {upper}", upper=name) if name not in {"", "UTF-8"} else ""


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines as pip joins them: a backslash continues a line, a comment ends it, blank lines are dropped."""
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
        return replace(blank, problem=msg("a line of {content} characters", content=len(content)))
    words = content.split(" ")
    first = next((at for at, word in enumerate(words) if word.startswith("-")), len(words))
    body, tail = " ".join(words[:first]).strip(), " ".join(words[first:])
    try:
        options = _options(shlex.split(tail))
    except ValueError as error:
        return replace(blank, problem=error.args[0])
    if not body:
        return _option_line(blank, options)
    hashes = tuple(value for name, value in options if name == "--hash")
    bad = next((value for value in hashes if not HASH.fullmatch(value)), None)
    if bad is not None:
        reason = msg(
            "--hash={bad} is not a sha256, sha384 or sha512 in hexadecimal digits", bad=bad[:80]
        )
        return replace(blank, problem=reason)
    ignored = tuple(name for name, _ in options if name not in OF_A_REQUIREMENT)
    return replace(_requirement(blank, body), hashes=hashes, ignored=ignored)


def _options(words: list[str]) -> list[tuple[str, str]]:
    """The options as pairs of long name and value, as pip's own parser (optparse) reads them."""
    try:
        found, rest = getopt.getopt(words, "r:c:e:i:f:C:Z", OPTIONS)
    except getopt.GetoptError as error:
        written = f"--{error.opt}" if len(error.opt) > 1 else f"-{error.opt}"
        if SHORT.get(written, written)[2:] + "=" in OPTIONS:
            raise ValueError(msg("{word} needs a value", word=written)) from error
        raise ValueError(msg("pip takes no {word} in a requirements file", word=written)) from error
    if rest:
        raise ValueError(msg("pip takes no {word} in a requirements file", word=rest[0]))
    return [(SHORT.get(name, name), value) for name, value in found]


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
    return replace(
        blank, form=form, requirement=requirement, name=name, target=requirement.url or ""
    )


def _name_of(target: str) -> str:
    """The package that a URL or file name contains, or ""."""
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
        r"([A-Za-z][A-Za-z0-9._-]*?)(?:[-_]v?\d[^/]*)?(?:\.git|\.whl|\.zip|\.tar\.\w+|\.tgz)?(?:@.*)?$",
        file,
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
