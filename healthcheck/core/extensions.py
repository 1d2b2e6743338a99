"""Checks and commands from other distributions, found by their entry points, and the kit's own extensions.

    [project.entry-points."npu_adapter.checks"]
    licence = "own_check:CHECKS"        # a tuple of checks, each judged with the stage that it declares

    [project.entry-points."npu_adapter.commands"]
    licences = "own_check:COMMAND"      # a Command

The kit's own extensions are the strings of `OWN`: the core imports none of them, and works without them. An
extension that cannot be loaded becomes a check that ends as an error and names the extension.
"""

from __future__ import annotations

import argparse
import enum
import importlib.util
import pkgutil
import re
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthcheck.core.check import Check, Findings, NotApplicable, broke, check
from healthcheck.core.records import UNUSABLE_EXTENSION, JsonValue
from healthcheck.core.stages import STAGES, Stage
from healthcheck.errors import KitFailure
from healthcheck.text.messages import Message, msg

CHECKS = "npu_adapter.checks"
COMMANDS = "npu_adapter.commands"
ADDITIONS = "additions"
"""Options of core commands, such as `verify --numerics`; for the kit's own extensions only."""
OWN: tuple[tuple[str, str, str], ...] = (
    (COMMANDS, "compare", "healthcheck.extensions.compare.command:COMMAND"),
    (COMMANDS, "diagnose", "healthcheck.extensions.diagnose.command:COMMAND"),
    (COMMANDS, "features", "healthcheck.extensions.features.command:COMMAND"),
    (COMMANDS, "fleet", "healthcheck.extensions.fleet.command:COMMAND"),
    (COMMANDS, "numerics", "healthcheck.extensions.numerics.command:COMMAND"),
    (COMMANDS, "read", "healthcheck.extensions.service_report.command:COMMAND"),
    (COMMANDS, "runner", "healthcheck.extensions.runner.command:COMMAND"),
    (COMMANDS, "simulate", "healthcheck.extensions.simulator.command:COMMAND"),
    (CHECKS, "features", "healthcheck.extensions.features.checks:CHECKS"),
    (CHECKS, "numerics", "healthcheck.extensions.numerics.checks:CHECKS"),
    (CHECKS, "runner", "healthcheck.extensions.runner.checks:CHECKS"),
    (ADDITIONS, "numerics", "healthcheck.extensions.numerics.added:ADDITIONS"),
    (ADDITIONS, "features", "healthcheck.extensions.features.added:ADDITIONS"),
    (ADDITIONS, "client", "healthcheck.extensions.service_report.added:ADDITIONS"),
)
"""Group, name and place of each, as in an entry point: they also work in a clone that is not installed."""
_ID = re.compile(r"([a-z0-9-]+)/[a-z0-9-]+")


class Group(enum.Enum):
    """What a command is for; the values are headings of `npu-adapter --help`."""

    MAKE = msg("make a repository")
    CHECK = msg("check a repository or a machine")
    MEASURE = msg("measure a server")
    EXPLAIN = msg("explain and look up")
    ADDED = msg("of other distributions")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of an extension.

    Attributes:
        summary: one line for the list of commands.
        group: where it stands in that list.
        arguments: declares the options.
        run: does the work; returns the exit status.
    """

    summary: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    group: Group = Group.ADDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """Options that an extension adds to a command of the core.

    Attributes:
        command: the name of the command.
        option: the one of its options that asks for it.
        heading: the heading of the options in `--help`; additions with the same one share it.
        arguments: declares the options in that group.
        asked: what the options ask for, if `option` was given. For `verify`, this is a `Measurement`; for `probe`,
            a function that runs in place of the probe and returns the exit status.
        everyday: the options that `--help` shows; it leaves the others to `--help-all`.
    """

    command: str
    option: str
    heading: str
    arguments: Callable[[argparse._ArgumentGroup], None]
    asked: Callable[[argparse.Namespace], object]
    everyday: tuple[str, ...] = ()

    def is_given(self, options: argparse.Namespace) -> bool:
        """Whether its option was given."""
        return bool(getattr(options, self.option.removeprefix("--").replace("-", "_")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """An entry point.

    Attributes:
        place: where its object is, such as "own_check:CHECKS".
        distribution: its name and version, "" for the kit's own extensions.
    """

    name: str
    place: str
    distribution: str = ""

    @property
    def module(self) -> str:
        return self.place.partition(":")[0]

    def load(self) -> object:
        """Import the object.

        Raises:
            KitFailure: the import failed; the message says why.
        """
        try:
            return pkgutil.resolve_name(self.place)
        except (Exception, SystemExit) as error:
            raise KitFailure(self.broken(broke(error))) from error

    def broken(self, reason: str) -> Message:
        """The sentence that the extension cannot be used, with the reason."""
        source = f"{self.place}, {self.distribution}" if self.distribution else self.place
        return msg(
            "the extension {name} ({source}) cannot be used: {reason}",
            name=self.name,
            source=source,
            reason=reason,
        )


def installed(group: str) -> tuple[Extension, ...]:
    """The extensions of other distributions in the kit's environment, sorted by name."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - most commands need no extension

    found = [
        Extension(
            name=point.name,
            place=point.value,
            distribution=f"{point.dist.name} {point.dist.version}" if point.dist else "",
        )
        for point in entry_points(group=group)
    ]
    return tuple(sorted(found, key=lambda each: (each.name, each.distribution)))


def own(group: str) -> tuple[Extension, ...]:
    """The kit's own extensions, without those whose folder does not exist."""
    of_group = (Extension(name=name, place=place) for their, name, place in OWN if their == group)
    return tuple(each for each in of_group if _is_there(each.module))


def own_checks() -> tuple[Check[Any], ...]:
    """The checks of the kit's own extensions, which run if an option requests them."""
    loaded: list[Any] = [each.load() for each in own(CHECKS)]
    return tuple(check for checks in loaded for check in checks)


def known_stages() -> tuple[Stage, ...]:
    """The stages of every verification and those of the kit's own extensions, in order."""
    stages = {*STAGES, *(check.stage for check in own_checks())}
    return tuple(sorted(stages, key=lambda stage: (stage.place, stage.name)))


def reserved_words() -> frozenset[str]:
    """The first words of the kit's own check ids, which no other distribution may use."""
    return frozenset({stage.name for stage in known_stages()} | {"task", "extension"})


def stage_of_report(name: str) -> Stage:
    """The stage of a result that was read from a report; one that this installation does not have comes last."""
    known = {stage.name: stage for stage in known_stages()}
    return known.get(name) or Stage(name=name, title=name, place=known[Stage.PROBE.name].place + 1)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def command(extension: Extension) -> Command:
    """The command of an extension.

    Raises:
        KitFailure: it cannot be loaded, or is not a Command.
    """
    loaded = extension.load()
    if not isinstance(loaded, Command):
        raise KitFailure(extension.broken(msg("it is not a healthcheck.api.Command")))
    return loaded


def switch(option: str, text: str) -> Callable[[argparse._ArgumentGroup], None]:
    """Declares an option without a value; `text` is its help."""

    def declare(group: argparse._ArgumentGroup) -> None:
        group.add_argument(option, action="store_true", help=text)

    return declare


def additions(command: str) -> tuple[Addition, ...]:
    """What the kit's own extensions add to a command."""
    loaded: list[Any] = [each.load() for each in own(ADDITIONS)]
    return tuple(each for added in loaded for each in added if each.command == command)


def declare_additions(parser: argparse.ArgumentParser, command: str) -> None:
    """Declare the options that extensions add to a command."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for addition in additions(command):
        if addition.heading not in groups:
            groups[addition.heading] = parser.add_argument_group(addition.heading)
        addition.arguments(groups[addition.heading])


def given_additions(command: str, options: argparse.Namespace) -> tuple[Addition, ...]:
    """The additions to a command whose options were given."""
    return tuple(addition for addition in additions(command) if addition.is_given(options))


@dataclass(frozen=True, slots=True)
class Extra:
    """The checks of extensions for one run.

    Attributes:
        checks: each is judged with the kit's own checks of its stage.
        unusable: one for each extension that is not loaded; they are judged first and need no facts.
        sources: the extensions with their distributions and versions.
    """

    checks: tuple[Check[Any], ...] = ()
    unusable: tuple[Check[object], ...] = ()
    sources: tuple[str, ...] = ()

    def of(self, stage: Stage) -> tuple[Check[Any], ...]:
        """The checks of a stage."""
        return tuple(each for each in self.checks if each.stage == stage)

    @property
    def provenance(self) -> dict[str, JsonValue]:
        """The extensions, for the report's provenance."""
        return {"extensions": list(self.sources)} if self.sources else {}


NONE = Extra()


def extra_checks(judged: Path | None = None) -> Extra:
    """The checks of all installed extensions.

    `judged` is the repository that is verified: no extension is loaded from it.
    """
    checks: list[Check[Any]] = []
    unusable: list[Check[object]] = []
    found = installed(CHECKS)
    for extension in found:
        if judged and _lies_in(extension.module, judged):
            unusable.append(_refused(extension))
            continue
        try:
            checks += _fit(extension, extension.load(), {each.id for each in checks})
        except KitFailure as error:
            unusable.append(_broken(extension, error))
    sources = tuple(f"{each.name} ({each.distribution})" for each in found)
    return Extra(tuple(checks), tuple(unusable), sources)


def _fit(extension: Extension, loaded: object, taken: set[str]) -> tuple[Check[Any], ...]:
    """The checks, if they can run beside the others.

    Raises:
        KitFailure: they cannot.
    """
    if not isinstance(loaded, tuple) or not all(isinstance(each, Check) for each in loaded):
        raise KitFailure(extension.broken(msg("it is not a tuple of checks")))
    ids = set(taken)
    for each in loaded:
        form = _ID.fullmatch(each.id)
        if form is None:
            raise KitFailure(
                extension.broken(msg("{id} is not an id such as own/licence", id=repr(each.id)))
            )
        if form[1] in reserved_words():
            raise KitFailure(
                extension.broken(msg("ids that begin with {word}/ are the kit's own", word=form[1]))
            )
        if each.id in ids:
            raise KitFailure(extension.broken(msg("there is another check {id}", id=each.id)))
        ids.add(each.id)
    return loaded


def _lies_in(module: str, folder: Path) -> bool:
    """Whether importing the module would run a file of the folder; the kit's environment inside it does not count.

    The spec of a name without a dot is found without importing anything.
    """
    spec = importlib.util.find_spec(module.partition(".")[0])
    places = [*(spec.submodule_search_locations or ()), spec.origin] if spec else []
    root, paths = folder.resolve(), sysconfig.get_paths()
    environment = [Path(paths[name]).resolve() for name in ("purelib", "platlib")]
    real = [Path(place).resolve() for place in places if place]
    return any(
        place.is_relative_to(root) and not any(place.is_relative_to(each) for each in environment)
        for place in real
    )


def _stands_for(extension: Extension) -> Callable[[Callable[[object], Findings]], Check[object]]:
    return check(
        f"{UNUSABLE_EXTENSION}{extension.name}",
        msg("The extension {name} is loaded", name=extension.name),
        stage=Stage.REPO,
        why=msg(
            "Its checks were meant to run, and did not; --no-extensions verifies without them."
        ),
    )


def _broken(extension: Extension, error: KitFailure) -> Check[object]:
    @_stands_for(extension)
    def broken(_: object) -> Findings:
        """What is installed beside the kit cannot be loaded. Repair it, or verify with --no-extensions."""
        raise error

    return broken


def _refused(extension: Extension) -> Check[object]:
    @_stands_for(extension)
    def refused(_: object) -> Findings:
        """An extension in the repository that is judged is not loaded: nothing of a submission runs in the kit."""
        raise NotApplicable(
            msg("{module} is in the repository that is judged", module=extension.module)
        )

    return refused
