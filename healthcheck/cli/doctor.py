"""`npu-adapter doctor`: the programs and packages that the kit can use on this machine, and their purpose."""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.cli import output
from healthcheck.cli.parsing import version
from healthcheck.core import extensions
from healthcheck.errors import Blocked, KitFailure
from healthcheck.sandbox.box import unavailable
from healthcheck.sandbox.job import Mode
from healthcheck.scaffold.render import COPIER
from healthcheck.stages.probe.grading import judge
from healthcheck.system import extras, programs
from healthcheck.system.processes import holders
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.text.tables import padded

_ASK_S = 20.0
_GROUPS = {
    extensions.CHECKS: msg(
        "checks that verify runs beside the kit's own; --no-extensions leaves them out"
    ),
    extensions.COMMANDS: msg("a command of its own"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A program, package or feature that the kit can use.

    Attributes:
        found: its version, path or state; "" if it is missing.
        needed: nothing works without it.
        without: the consequence if it is missing, or how to get it.
    """

    name: str
    found: str
    use: str
    without: str
    needed: bool = False


def run(options: argparse.Namespace) -> int:
    """Examine the machine and print; returns 1 if a needed part is missing."""
    output.refuse_unwritable(options.json)
    parts = tuple(look())
    output.show(
        _lines(parts), options.json, lambda: {"schema": 1, "version": version(), "parts": parts}
    )
    return int(any(part.needed and not part.found for part in parts))


def _lines(parts: tuple[Part, ...]) -> Iterator[str]:
    say = translation_of_the_process().say
    yield version()
    for part in parts:
        mark = msg("yes") if part.found else msg("NO") if part.needed else msg("no")
        yield f"{padded(say(mark), 3)}  {padded(say(part.name), 22)} {say(part.found or part.without)}"
        yield " " * 28 + msg("for {use}", use=part.use)


def look() -> Iterator[Part]:
    """The parts, the required ones first."""
    use = msg("everything about a repository: the service gets the committed files")
    yield Part(
        name="git",
        found=_version_of("git", "--version"),
        without=msg("install git"),
        use=use,
        needed=True,
    )
    use = msg("reading deploy.sh as its own shell does")
    yield Part(
        name="sh",
        found=_real_place("sh"),
        without=msg("install a POSIX shell"),
        use=use,
        needed=True,
    )
    yield from _shells()
    yield _namespaces()
    use = msg("judging by a release; a newer one has no row, and results are inconclusive")
    without = msg("docs/adding-a-release.md says how to add a release")
    yield Part(name=msg("version matrix"), found=stacks.age(), without=without, use=use)
    taken = ", ".join(dict.fromkeys(holder.owner for holder in holders(contract.PORT)))
    name, found = msg("port {port}", port=contract.PORT), "" if taken else msg("free")
    without = msg("taken by {taken}: end it before a launch", taken=taken)
    yield Part(
        name=name,
        found=found,
        without=without,
        use=msg("the service stage: deploy.sh serves there"),
    )
    yield _package(COPIER, extras.install_command(COPIER), msg("npu-adapter new and update"))
    install = extras.install_command(judge.PACKAGE)
    without = msg(
        "only numbers, words and choices are graded; for expressions: {install_command}",
        install_command=install,
    )
    use = msg(
        "probe --dataset: judges answers that are expressions, such as (3, 14) or LaTeX (the extra [math]); "
        "the kit itself judges the rest"
    )
    yield _package(judge.PACKAGE, without, use)
    yield from _engines()
    yield from _extensions()


def _package(name: str, without: str, use: str) -> Part:
    return Part(name=name, found=_distribution(name), without=without, use=use)


def _extensions() -> Iterator[Part]:
    """The installed extensions, and whether they can be used."""
    for group, use in _GROUPS.items():
        for extension in extensions.installed(group):
            found, without = extension.distribution, ""
            try:
                extension.load()
            except KitFailure as error:
                found, without = "", str(error)
            yield Part(
                name=msg("extension {name}", name=extension.name),
                found=found,
                without=without,
                use=use,
            )


def _shells() -> Iterator[Part]:
    use = msg(
        "finding what only one of the two understands; which of them the service has as sh is unknown"
    )
    for name in ("dash", "bash"):
        yield Part(
            name=name, found=_real_place(name), without=msg("install {name}", name=name), use=use
        )


def _engines() -> Iterator[Part]:
    launch = msg("the stages up to weights run without it; a launch on this machine does not")
    found = _command("vllm") or _distribution("vllm")
    use = msg(
        "the launch, and its own list of options and architectures instead of the kit's catalogue"
    )
    yield Part(name="vllm", found=found, without=launch, use=use)
    yield _package("vllm-ascend", launch, msg("vLLM on an Ascend NPU"))
    use = msg("npu-adapter runner: the devices and their health")
    yield Part(
        name="npu-smi", found=_command("npu-smi"), without=msg("no NPU driver tools here"), use=use
    )
    yield _package("pytest", msg("pip install pytest"), msg("the tests of an adapter repository"))


def _version_of(program: str, *arguments: str) -> str:
    try:
        done = subprocess.run(
            (programs.find_or_name(program), *arguments), cwd="/", capture_output=True, text=True,
            timeout=_ASK_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().partition("\n")[0] if done.returncode == 0 else ""


def _command(name: str) -> str:
    return programs.find(name) or ""


def _real_place(name: str) -> str:
    """The path of a program, and its target if it is a link, as sh often is."""
    place = programs.find(name)
    real = os.path.realpath(place) if place else ""
    return (
        msg("{place} (is {real})", place=place, real=real)
        if place and os.path.basename(real) != name
        else place or ""
    )


def _distribution(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _namespaces() -> Part:
    """Try the sandbox on a script that does nothing."""
    without: str = msg("not allowed here; the plan stage says so")
    try:
        found = "" if unavailable(Mode.ISOLATED) else msg("allowed")
    except Blocked as error:
        found, without = "", str(error)
    use = msg(
        "a sandbox for deploy.sh with no network and no real programs (user, mount, PID, network namespaces)"
    )
    return Part(name=msg("namespaces"), found=found, without=without, use=use)
