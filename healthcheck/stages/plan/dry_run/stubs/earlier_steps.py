"""Earlier steps of the submission: what pip would install, and which files a real run may have created."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from healthcheck.stages.plan.dry_run.stubs import image, note
from healthcheck.stages.repo import pip_words

_FILE_BYTES, _DEEPEST = 256 * 1024, 8
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_OF_PYTHON = re.compile(r"^(?:python_?|py_?)|_?py(?:thon3?)?$")
_PATTERN = re.compile(r"[*?]|\[[^\]]*\][\w.-]")
_VERSION_CONTROL = re.compile(r"\b(?:git|hg|svn|bzr)\+")
_ASKS = {"--version", "-V", "-v", "version", "--help", "-h", "help"}
_MAKES_NOTHING = {
    "npu-smi", "hccn_tool", "ray", "apt-get", "apt", "yum", "dnf", "apk", "add-apt-repository", "ldconfig",
    "update-alternatives", "venv", "virtualenv", "ensurepip",
}  # fmt: skip
"""Recorded programs that create no files in the submission's folder; others may."""
_GIT_READS = {"rev-parse", "describe", "log", "branch", "status", "diff", "remote", "config"}


def installations() -> Iterator[tuple[str, list[str]]]:
    """Each `pip install`: the working directory, and the arguments after `install`."""
    for _, folder, program, arguments in _earlier():
        words = pip_words.to_install(program, arguments)
        if words is not None:
            yield folder, list(words)


def importable_names() -> frozenset[str]:
    """Possible names of the packages' modules, in lower case: python-magic has `magic`.

    CUDA-only packages are left out: they do not load here.
    """
    required = _listed(os.path.join(image.root(), "requirements.txt"))
    found = pip_words.packages([*required, *_of_installations()])
    plain = {name for name in found if image.pip_name(name) not in image.cuda_only()}
    return frozenset(
        plain
        | {re.split("[._]", name)[0] for name in plain}
        | {_OF_PYTHON.sub("", name) for name in plain}
    )


def packages(folder: str, words: list[str]) -> frozenset[str]:
    """The packages that `pip install` with these arguments installs, by name or from requirements files."""
    return pip_words.packages(_requirements(folder, words))


def _requirements(folder: str, words: list[str]) -> Iterator[str]:
    for place in pip_words.lists(words):
        yield from _listed(os.path.join(folder, place))
    yield from pip_words.operands(words)


def _of_installations() -> Iterator[str]:
    for folder, words in installations():
        yield from _requirements(folder, words)


def _listed(path: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """The requirements in a requirements file and the files that it includes with -r."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(_FILE_BYTES).splitlines()
    except OSError:
        return
    yield from pip_words.of_lines(lines)
    named = (
        place for line in lines if line.startswith("-") for place in pip_words.lists(line.split())
    )
    for place in (os.path.join(os.path.dirname(path), each) for each in named):
        if place not in above and len(above) < _DEEPEST:
            yield from _listed(place, (*above, path))


def project_folders() -> Sequence[str]:
    """Folders of projects that pip would install from the submission."""
    found = []
    for folder, words in installations():
        for word in pip_words.operands(words):
            place = os.path.join(folder, word.partition("[")[0])
            if any(os.path.exists(f"{place}/{name}") for name in _PROJECT):
                found += [place, f"{place}/src"]
    return found


def may_be_there(place: str) -> bool:
    """Whether `place`, which is missing in the dry run, may exist in a real run.

    The image has other files, so absence is certain only below the submission's folder; and there only until a
    step that was recorded but not executed (a download, a build, a clone) may have created the file. A pattern
    without matches counts as a file that such a step creates.
    """
    outside = not _in_the_submission(os.path.realpath(os.path.expanduser(place)))
    return outside or _PATTERN.search(place) is not None or may_make_files()


def may_make_files() -> bool:
    """Whether a step that was recorded but not executed may have created files."""
    return any(
        _may_make_files(kind, program, arguments) for kind, _, program, arguments in _earlier()
    )


def _in_the_submission(place: str) -> bool:
    """Whether only the submission creates files there: below its folder, or in an empty working directory."""
    folder = os.path.dirname(place)
    if image.other_folder() and folder == os.path.realpath(image.other_folder()):
        return True
    while folder != "/" and not os.path.exists(f"{folder}/{image.script()}"):
        folder = os.path.dirname(folder)
    return folder != "/"


def _earlier() -> Iterator[tuple[str, str, str, list[str]]]:
    """Records of other processes: kind, working directory, program, arguments."""
    for pid, kind, folder, program, *arguments in note.records():
        if pid != str(os.getpid()):
            yield kind, folder, program, arguments


def _may_make_files(kind: str, program: str, arguments: list[str]) -> bool:
    if kind == "server" or (arguments and set(arguments) <= _ASKS):
        return False
    if program.startswith("python") and arguments[:1] == ["-m"] and len(arguments) > 1:
        return _may_make_files(kind, arguments[1], arguments[2:])
    command = next((word for word in arguments if not word.startswith("-")), "")
    if pip_words.is_pip(program):
        return command in {"download", "wheel"} or any(map(_VERSION_CONTROL.search, arguments))
    if program == "git":
        return command not in _GIT_READS
    return program not in _MAKES_NOTHING or command in {"download", "source"}
