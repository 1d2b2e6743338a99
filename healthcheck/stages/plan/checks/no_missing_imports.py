"""plan/no-missing-imports: what the submission imports from vLLM and vllm-ascend is in the release."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.ascend.stacks import DEFAULT, Row, row, rows, spans
from healthcheck.core.check import Findings, check, fail, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan import calls
from healthcheck.stages.plan.commands import NAME_CHARACTERS
from healthcheck.stages.plan.importable import FILE, Importable, read
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.system.files import DATA
from healthcheck.text.messages import joined, msg

_TITLES = {"vllm": "vLLM", "vllm_ascend": "vllm-ascend"}
_MOST_FINDINGS, _MOST_LISTED = 12, 8
_LEAST_WORDS, _MOST_HOMES = 4, 4
_SIMILAR = 0.8


@dataclass(frozen=True, slots=True)
class Use:
    """A recorded import.

    Attributes:
        name: the name in the module; "" if the module alone is imported.
        where: the file and line; "" for a program on a command line or standard input.
        lacking: what the program tries first, each as a module and a name.
    """

    module: str
    name: str
    where: str
    lacking: tuple[tuple[str, str], ...]

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]

    @property
    def statement(self) -> str:
        """The import as a statement."""
        return f"from {self.module} import {self.name}" if self.name else f"import {self.module}"

    def is_missing(self, catalogue: Importable, release: str) -> bool:
        """Whether a release runs into this import and does not have it."""
        tried = ((self.module, self.name), *self.lacking)
        return all(release not in catalogue.having(module, name) for module, name in tried)


@check(
    "plan/no-missing-imports",
    msg("What the Python code imports from vLLM is in the release"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "An import of a module or name that the release does not have ends the program with ImportError."
    ),
    requires=("repo/deploy-sh-present",),
    by_row=True,
)
def no_missing_imports(plan: LaunchPlan) -> Findings:
    """Python code that deploy.sh runs can only import the modules and names of `vllm` and `vllm_ascend` that the
    release has. Releases of vLLM often move them.

    The dry run records the imports that run, uses of attributes of these modules, and `python3 -m`. The modules
    and names are those in the sources of vLLM 0.18.0 to 0.33.0 and of the vllm-ascend releases that belong to
    them. If the program catches the failure of an import (`except ImportError`), the import in the handler is
    judged instead. The check does not judge names that begin with `_`, or whether a module can be loaded on an NPU.

    The release is that of --stack, or else the newest final one. A note lists the other releases that do not have
    an import.

    Example:
    ```sh
    exec python3 -c 'from vllm.utils import FlexibleArgumentParser'
    ```

    Use instead:

    ```sh
    python3 -c 'from vllm.utils.argparse_utils import FlexibleArgumentParser'
    exec vllm serve "$MODEL_PATH"
    ```
    """
    found, programs = uses(plan), _programs(plan)
    if not found and not programs:
        return
    catalogues = read((DATA / FILE).read_text("ascii"))
    chosen = row(plan.stack or DEFAULT)
    for package, catalogue in catalogues.items():
        release = _release(chosen, package)
        of_package = [use for use in found if use.package == package]
        if release not in catalogue.releases:
            if of_package:
                yield _unknown(of_package, catalogue, release)
            continue
        of_package += [use for use in programs if use.package == package]
        missing = [use for use in of_package if use.is_missing(catalogue, release)]
        for use in _once(missing)[:_MOST_FINDINGS]:
            yield _finding(plan, use, catalogue, release)
        yield from _elsewhere(plan, [use for use in of_package if use not in missing], catalogue)


def uses(plan: LaunchPlan) -> list[Use]:
    """The recorded imports: all of a release without a catalogue, else those that some release lacks."""
    records = (each.argv for each in plan.commands if each.program == calls.IMPORTS)
    found = [
        Use(
            module,
            name,
            where,
            tuple((first, of) for first, _, of in (each.partition(":") for each in lacking)),
        )
        for _, module, name, where, *lacking in (
            each for each in records if len(each) >= _LEAST_WORDS
        )
        if module.partition(".")[0] in _TITLES
    ]
    return list(dict.fromkeys(found))


def _programs(plan: LaunchPlan) -> list[Use]:
    """The modules that `python -m` runs."""
    found = []
    for each in plan.commands:
        module = next(
            (word for option, word in itertools.pairwise(each.argv[1:3]) if option == "-m"), ""
        )
        if module.partition(".")[0] in _TITLES and module not in _TITLES:
            found.append(Use(module, "", each.where, ()))
    return list(dict.fromkeys(found))


def _release(chosen: Row, package: str) -> str:
    return chosen.vllm[0] if package == "vllm" else chosen.vllm_ascend


def _once(missing: Sequence[Use]) -> list[Use]:
    """One use for each import: a search for the module a.b.c begins with a and a.b."""
    each_once = {(use.module, use.name, use.where): use for use in missing}.values()
    asked = [(f"{use.module}.{use.name}".rstrip("."), use.where) for use in each_once]
    return [
        use
        for use in each_once
        if use.name
        or not any(
            where == use.where and each.startswith(f"{use.module}.") for each, where in asked
        )
    ]


def _finding(plan: LaunchPlan, use: Use, catalogue: Importable, release: str) -> Finding:
    title = f"{_TITLES[use.package]} {release}"
    having = catalogue.having(use.module, use.name)
    possible = {release} if plan.stack else {_release(each, use.package) for each in rows()}
    seen = msg("{statement}: {release} does not have it", statement=_quoted(use), release=title)
    if having:
        seen += msg("; it is in {releases}", releases=spans(having, catalogue.releases))
    else:
        oldest, newest = catalogue.releases[0], catalogue.releases[-1]
        seen += msg("; no release from {oldest} to {newest} has it", oldest=oldest, newest=newest)
    say = fail
    if having & possible:
        say = warn
        seen += msg("; which release the service has is not documented")
    return say(
        expected=msg("an import that {release} has", release=title),
        seen=seen,
        fix=_repair(use, catalogue, release),
        where=_place(plan, use),
        evidence={
            "module": use.module,
            "name": use.name,
            "release": release,
            "in": [*sorted(having)],
        },
    )


def _quoted(use: Use) -> str:
    return use.statement[:NAME_CHARACTERS]


def _place(plan: LaunchPlan, use: Use) -> str:
    """The line of the import; that of deploy.sh for a program on its command line."""
    return (
        use.where
        if not use.where.startswith(":")
        else deploy_sh.place_of(plan.script, [use.module, use.name])
    )


def _repair(use: Use, catalogue: Importable, release: str) -> str:
    """The import that works in the release."""
    module, name = (_moved_name if use.name else _moved_module)(use, catalogue, release)
    if name:
        return msg("write: from {module} import {name}", module=module, name=name)
    if module:
        return msg("write: import {module}", module=module)
    homes = catalogue.homes(use.name, release) if use.name else []
    if 0 < len(homes) <= _MOST_HOMES:
        return msg(
            "import {name} from the right one of these: {modules}",
            name=use.name,
            modules=joined(", ", homes),
        )
    return msg(
        "remove the import: {release} has nothing with that name",
        release=f"{_TITLES[use.package]} {release}",
    )


def _moved_name(use: Use, catalogue: Importable, release: str) -> tuple[str, str]:
    """The module and name that replace those of an import; empty if unknown."""
    if home := _nearest(use.module, catalogue.homes(use.name, release)):
        return home, use.name
    near = difflib.get_close_matches(use.name, catalogue.names(use.module, release), 1, _SIMILAR)
    return (use.module, near[0]) if near else ("", "")


def _moved_module(use: Use, catalogue: Importable, release: str) -> tuple[str, str]:
    """The module that replaces the one of an import, and no name; empty if unknown."""
    parent, _, last = use.module.rpartition(".")
    words = [
        each.rpartition(".") for each in catalogue.modules if release in catalogue.having(each)
    ]
    beside = [word for folder, _, word in words if folder == parent]
    if near := difflib.get_close_matches(last, beside, 1, _SIMILAR):
        return f"{parent}.{near[0]}", ""
    return _nearest(
        use.module, [f"{folder}.{word}" for folder, _, word in words if word == last]
    ), ""


def _nearest(module: str, homes: Sequence[str]) -> str:
    """The module that most resembles the given one; "" if two do equally."""
    alike = sorted(((_shared(module, home), home) for home in homes), reverse=True)
    if not alike or (len(alike) > 1 and alike[0][0] == alike[1][0]):
        return ""
    return alike[0][1]


def _shared(one: str, other: str) -> int:
    """How many words two modules share."""
    return len(set(one.split(".")) & set(other.split(".")))


def _unknown(found: Sequence[Use], catalogue: Importable, release: str) -> Finding:
    title = f"{_TITLES[catalogue.package]} {release}"
    statements = list(dict.fromkeys(_quoted(use) for use in found))
    more = len(statements) - _MOST_LISTED
    listed = joined("; ", statements[:_MOST_LISTED])
    seen = msg(
        "{release} is not catalogued, and the program has: {statements}",
        release=title,
        statements=listed,
    )
    if more > 0:
        seen += msg("; and {count} more", count=more)
    fix = msg("try it in the image: python3 -c '{statement}'", statement=statements[0])
    return unsettled(
        expected=msg("an import that {release} has", release=title),
        seen=seen,
        fix=fix,
        where=found[0].where,
    )


def _elsewhere(plan: LaunchPlan, found: Sequence[Use], catalogue: Importable) -> Iterator[Finding]:
    """Notes on imports that the release has and the release of another row does not have."""
    possible = {_release(each, catalogue.package) for each in rows()} & set(catalogue.releases)
    for use in _once(found)[:_MOST_FINDINGS]:
        without = {each for each in possible if use.is_missing(catalogue, each)}
        if without:
            title = _TITLES[use.package]
            releases = spans(without, catalogue.releases)
            seen = msg(
                "{statement}: not in {package} {releases}",
                statement=_quoted(use),
                package=title,
                releases=releases,
            )
            yield note(seen, where=_place(plan, use))
