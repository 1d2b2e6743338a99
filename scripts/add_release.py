# ruff: noqa: INP001 - scripts are no package
"""Add releases to the version matrix and the catalogues, from their packages alone.

    .venv/bin/python scripts/add_release.py 0.30.0rc2 0.29.0rc1
    .venv/bin/python scripts/add_release.py --new
    .venv/bin/python scripts/add_release.py vllm==0.33.0

A plain version is one of vllm-ascend: it adds the row, the schemes, the keys of --additional-config, the support
matrix, the known issues, its modules and names, and the requirements, options, environment variables,
architectures, modules and names of its vLLM. --new adds each release of the package index that has no row. pip
downloads the packages and unpacks them; nothing is built, and no setup.py runs. Only vllm-ascend's envs.py is
executed, and vLLM's own parser and envs.py are imported, by a Python that has their dependencies (--engine-python).

The template and the changelog follow, unless --data names another folder.

Values that the packages do not state are null, or given by --vllm and --cann. Everything is read before anything is
written. An existing row is read again, but its vLLM only if it is named; existing catalogues are kept. The summary
lists the changes.
Exit status: 0 done, 1 a release is not available.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import check_hand_written
import make_architecture_catalogue as architectures
import make_config_catalogue as config
import make_name_catalogue as names
import make_notes_catalogue as notes
import make_scheme_catalogue as schemes
import release_changelog
import release_row
import release_summary
import release_template
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from release_row import Row
from released import ReleaseError, metadata, unpacked, unpacked_wheel, versions

from healthcheck.stages.plan.importable import FILE as IMPORTABLE
from healthcheck.stages.plan.importable import RELEASES
from healthcheck.system import files

ROOT = Path(__file__).parent.parent
DATA = ROOT / "healthcheck" / "data"
NOTES = Path(__file__).with_name("data") / "release-notes.json"
ASCEND, VLLM = "vllm-ascend", "vllm"
FLAGS = Path(__file__).with_name("make_flag_catalogue.py")
ENGINE_PYTHON = ROOT / ".venv-vllm" / "bin" / "python"


@dataclass(slots=True, kw_only=True)
class Books:
    """The files of the data folder to be written, by name, and the lines of the summary."""

    matrix: dict[str, object]
    releases: list[architectures.Release]
    schemes: list[Row]
    config: dict[str, Any]
    support: dict[str, Any]
    notes: list[dict[str, Any]]
    importable: dict[str, Any]
    flags: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def main() -> int:
    wanted = _arguments()
    books = Books(
        matrix=json.loads((wanted.data / "stacks.json").read_bytes()),
        releases=json.loads((wanted.data / "architectures.json").read_bytes())["releases"],
        schemes=json.loads((wanted.data / "schemes.json").read_bytes())["releases"],
        config=json.loads((wanted.data / "additional-config.json").read_bytes()),
        support=json.loads((wanted.data / "support-matrix.json").read_bytes()),
        notes=json.loads(wanted.notes.read_bytes())["releases"],
        importable=json.loads((wanted.data / IMPORTABLE).read_bytes()),
    )
    try:
        _add(wanted, books)
    except ReleaseError as error:
        print(f"add_release: {error}; nothing was written", file=sys.stderr)
        return 1
    _write(wanted.data, wanted.notes, books)
    if wanted.data.samefile(DATA):
        books.said += release_template.bring_up_to_date(books.matrix)
        books.said += release_changelog.add(books.added)
    print("\n".join(books.said))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--new", action="store_true", help="also each release of the index without a row"
    )
    parser.add_argument("releases", nargs="*", type=_release, metavar="RELEASE",
                        help="VERSION of vllm-ascend, or NAME==VERSION of it or vllm")  # fmt: skip
    parser.add_argument(
        "--vllm", default="", metavar="VERSION", help="the vLLM of the row, if no package says it"
    )
    parser.add_argument(
        "--cann", default="", metavar="VERSION", help="the CANN of the row, if no package says it"
    )
    parser.add_argument("--engine-python", type=Path, default=ENGINE_PYTHON, metavar="PYTHON",
                        help="a Python with what vLLM imports (default: that of .venv-vllm)")  # fmt: skip
    parser.add_argument(
        "--data", type=Path, default=DATA, metavar="DIR", help="default: healthcheck/data"
    )
    parser.add_argument(
        "--notes",
        type=Path,
        default=NOTES,
        metavar="FILE",
        help="default: scripts/data/release-notes.json",
    )
    return parser.parse_args()


def _release(text: str) -> tuple[str, str]:
    try:
        asked = Requirement(text if "==" in text else f"{ASCEND}=={text.removeprefix('v')}")
        ((version,), name) = (
            [each.version for each in asked.specifier],
            canonicalize_name(asked.name),
        )
        Version(version)
    except (InvalidRequirement, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a release: {error}") from error
    if name not in {ASCEND, VLLM}:
        raise argparse.ArgumentTypeError(f"{name} is neither {ASCEND} nor {VLLM}")
    return name, version


def _add(wanted: argparse.Namespace, books: Books) -> None:
    rows = [version for name, version in wanted.releases if name == ASCEND]
    on_the_index = versions(ASCEND) if rows or wanted.new else []
    if wanted.new:
        known = {row["vllm_ascend"] for row in _rows(books.matrix)}
        oldest = Version(release_template.OLDEST)
        rows += [each for each in on_the_index if each not in known and Version(each) > oldest]
    if rows:
        _add_rows(rows, on_the_index[0], wanted, books)
    for name, version in wanted.releases:
        if name == VLLM:
            _add_vllm(version, "", wanted, books)


def _add_rows(versions: list[str], last: str, wanted: argparse.Namespace, books: Books) -> None:
    """Add the rows, with the compatibility table and the notes in the documents of the newest release."""
    with unpacked(ASCEND, last) as newest_tree:
        table = release_row.published(newest_tree)
        books.notes = notes.notes(newest_tree) or books.notes
        for version in versions:
            if Version(version) == Version(last):
                _add_row(newest_tree, table, wanted, books)
            else:
                with unpacked(ASCEND, version) as tree:
                    _add_row(tree, table, wanted, books)
        if books.added:
            books.said += check_hand_written.contradictions(last, newest_tree)
    by_release = {each["vllm_ascend"]: each for each in books.notes}
    for row in _rows(books.matrix):
        said = by_release.get(str(row["vllm_ascend"]), {})
        row |= {name: said.get(name, row[name]) for name in ("released", "restricted_to")}
    source = f"{ASCEND} {last}, {release_row.POLICY}"
    books.matrix |= {"source": source, "read_on": date.today().isoformat()}  # noqa: DTZ011 - a day is enough


def _add_row(
    tree: Path, table: Mapping[str, Row] | None, wanted: argparse.Namespace, books: Books
) -> None:
    row = release_row.read_row(tree, metadata(tree), table)
    version = str(row["vllm_ascend"])
    registered = schemes.row(version, tree)
    said = next((each for each in books.notes if each["vllm_ascend"] == version), {})
    row |= {"released": said.get("released"), "restricted_to": said.get("restricted_to", [])}
    row["vllm"] = row["vllm"] or ([wanted.vllm] if wanted.vllm else None)
    row["cann"] = row["cann"] or wanted.cann or None
    if not row["vllm"]:
        raise ReleaseError(
            f"no file of {ASCEND} {version} says which vLLM it belongs with: give it with --vllm"
        )
    rows = _rows(books.matrix)
    known = next((each for each in rows if each["vllm_ascend"] == row["vllm_ascend"]), None)
    row["commit"] = (known or row)["commit"]
    others = [each for each in rows if each is not known]
    older = [each for each in others if _version(each) < _version(row)]
    books.said += release_summary.of_row(row, known, older[0] if older else None)
    books.said += release_summary.of_schemes(registered, books.schemes)
    if known is None or any(registered["schemes"].values()):  # type: ignore[attr-defined]
        books.schemes.append(registered)
    books.matrix["rows"] = sorted([row, *others], key=_version, reverse=True)
    _add_documents(version, tree, books)
    _add_names("vllm_ascend", version, tree, books)
    if known is not None:
        return
    books.added.append(version)
    books.said += release_summary.of_notes(version, books.notes)
    for vllm in row["vllm"]:  # type: ignore[attr-defined]
        _add_vllm(vllm, str(row["requires"].get("transformers", "")), wanted, books)  # type: ignore[attr-defined]


def _add_documents(version: str, tree: Path, books: Books) -> None:
    """Add the keys of --additional-config and the support matrix; say what is new."""
    keys = config.row(version, tree)
    if keys["groups"]:
        books.said += release_summary.of_keys(keys, books.config["releases"])
        books.config = config.catalogue(books.config, [keys])
    support = notes.matrix_row(version, tree)
    books.said += release_summary.of_support(support, books.support["releases"])
    books.support = notes.matrix(books.support, [support])
    unnamed = notes.unnamed(books.support, support)
    books.said += [
        f"    by hand: the architecture of {name}, in names of support-matrix.json"
        for name in unnamed
    ]


def _add_names(package: str, version: str, tree: Path, books: Books) -> None:
    """Add the modules and names of a release, unless it is older than the oldest one that has them."""
    releases = books.importable[package][RELEASES]
    if (tree / package).is_dir() and Version(version) >= min(map(Version, releases)):
        before = books.importable
        books.importable = names.with_release(
            before, package, version, names.package(tree, package)
        )
        if version not in releases:
            books.said += release_summary.of_names(package, version, releases[-1], books.importable)


def _rows(matrix: Mapping[str, object]) -> list[Row]:
    return list(matrix["rows"])  # type: ignore[call-overload]


def _version(row: Row) -> Version:
    return Version(str(row["vllm_ascend"]))


def _add_vllm(version: str, transformers: str, wanted: argparse.Namespace, books: Books) -> None:
    requires: dict[str, dict[str, str]] = books.matrix["vllm_requires"]  # type: ignore[assignment]
    catalogued = (
        wanted.data / f"vllm-{version}.json"
    ).exists() or f"vllm-{version}.json" in books.flags
    released = any(release["vllm"] == version for release in books.releases)
    named = version in books.importable[VLLM][RELEASES]
    if version in requires and catalogued and released and named:
        return
    with unpacked(VLLM, version) as tree:
        said = metadata(tree)
        if version not in requires:
            requires[version] = release_row.vllm_requirements(said)
            newest_first = sorted(requires, key=Version, reverse=True)
            books.matrix["vllm_requires"] = {each: requires[each] for each in newest_first}
            books.said.append(f"vllm {version}: {len(requires[version])} requirements")
        if not named:
            _add_names(VLLM, version, tree, books)
        if not catalogued:
            _add_flags(tree, version, wanted, books)
        if not released:
            own = dict(release_row.requirements(said)).get("transformers", "")
            _add_architectures(tree, version, _exact(transformers) or own, books)


def _exact(specifier: str) -> str:
    return specifier if any(clause.operator == "==" for clause in SpecifierSet(specifier)) else ""


def _add_flags(tree: Path, version: str, wanted: argparse.Namespace, books: Books) -> None:
    python = wanted.engine_python
    if not os.access(python, os.X_OK):
        books.said.append(
            f"vllm {version}: no catalogue of options, since there is no {python}: see --engine-python"
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [python, FLAGS, folder], env=environment, capture_output=True, text=True, check=False
        )
        made = Path(folder, f"vllm-{version}.json")
        if not made.is_file():
            last = (done.stderr.strip() or "it wrote none").splitlines()[-1]
            books.said.append(f"vllm {version}: no catalogue of options by {python}: {last}")
            return
        books.flags[made.name] = made.read_text("utf-8")
    older = [name for name in _catalogues(wanted.data, books) if Version(name) < Version(version)]
    text = (
        (books.flags.get(f"vllm-{older[-1]}.json") or _text(wanted.data, older[-1]))
        if older
        else ""
    )
    books.said += release_summary.of_flags(version, books.flags[f"vllm-{version}.json"], text)
    books.said += [
        f"  {line}" for line in done.stderr.splitlines() if line.startswith("no names for")
    ]


def _catalogues(data: Path, books: Books) -> Iterator[str]:
    names = {*(path.name for path in data.glob("vllm-*.json")), *books.flags}
    yield from sorted((name[len("vllm-") : -len(".json")] for name in names), key=Version)


def _text(data: Path, version: str) -> str:
    return (data / f"vllm-{version}.json").read_text("utf-8")


def _add_architectures(tree: Path, version: str, transformers: str, books: Books) -> None:
    with unpacked_wheel("transformers", transformers) as beside:
        found = architectures.release(tree / "vllm", beside / "transformers")
        head = {"vllm": version, "transformers": str(metadata(beside)["Version"])}
    before = books.releases
    books.releases = architectures.with_releases(before, [{**head, **found}])
    books.said += release_summary.of_architectures(version, books.releases)


def _write(data: Path, known_issues: Path, books: Books) -> None:
    texts = {
        **{data / name: text for name, text in books.flags.items()},
        data / "architectures.json": architectures.text(books.releases),
        data / "schemes.json": schemes.text((), books.schemes),
        data / "additional-config.json": config.text(books.config),
        data / "support-matrix.json": notes.matrix_text(books.support),
        known_issues: notes.notes_text(books.notes),
        data / IMPORTABLE: names.text(books.importable),
        data / "stacks.json": release_row.matrix_text(books.matrix),
    }
    for path, text in texts.items():
        if not path.exists() or path.read_text("utf-8") != text:
            files.write_atomically(path, text.encode())


if __name__ == "__main__":
    sys.exit(main())
