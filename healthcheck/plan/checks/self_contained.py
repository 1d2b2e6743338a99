"""What deploy.sh needs from its surroundings that the service does not give it."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence

from healthcheck import contract
from healthcheck.check import Findings, check, fail, warn
from healthcheck.plan import missing_packages
from healthcheck.plan.commands import NAME_CHARACTERS, command_text
from healthcheck.plan.dry_run.sandbox.job import IMAGE_FOLDERS
from healthcheck.plan.records import LaunchPlan, RecordedCommand, ServerCommand
from healthcheck.plan.repairs import (
    BASH_ONLY,
    demanded,
    is_environment,
    is_foreign,
    is_in_the_image,
    is_of_the_image,
    remedy,
)
from healthcheck.plan.requested import is_install
from healthcheck.plan.script import deploy_sh, trace
from healthcheck.plan.script.permissions import limits_of_the_sandbox, refused, refused_weights
from healthcheck.plan.script.stderr import Complaint, complaints
from healthcheck.processes import shortened
from healthcheck.records import Finding, Stage
from healthcheck.repo import packages

_EXPECTED = "everything that deploy.sh uses is in the repository or in the service's image"
_HUB = re.compile(r"huggingface\.co|hf-mirror|modelscope|modelers\.cn|openmind|gitee\.com|gitcode", re.IGNORECASE)
_PROVIDED = re.compile(
    r"^(torch|torch[-_]npu|vllm|vllm[-_]ascend|triton|triton[-_]ascend|torchvision|torchaudio)\b"
)
_NEEDED = {"torch", "torch-npu", "torch_npu", "vllm", "vllm-ascend", "vllm_ascend"}
_VLLM_OPENS = {"VLLM_LOGGING_CONFIG_PATH"}
"""Variables without whose file vLLM ends at once (vllm/logger.py).

Others depend on what reads them: torch_npu goes on without a table of ranks (ProcessGroupHCCL::createHCCLCommEx).
"""
_IMAGE_PLACES = tuple(sorted({f"/{folder.split('/')[1]}" for folder in IMAGE_FOLDERS}))
_SYSTEM_PACKAGES = {"apt", "apt-get", "yum", "dnf", "apk"}
_DOWNLOAD_CALLS = ("snapshot_download(", "hf_hub_download(", "model_file_download(")
_DOWNLOADERS = {"huggingface-cli", "hf", "modelscope", "openmind-cli", "obsutil", "git-lfs"}


@check(
    "plan/self-contained",
    "deploy.sh needs nothing that the service does not provide",
    stage=Stage.PLAN,
    rule=contract.STARTS_THE_SERVICE,
    why="The service runs deploy.sh alone in a clean image: no arguments, no terminal, no files but the commit's.",
    requires=("repo/deploy-sh-present",),
)
def self_contained(plan: LaunchPlan) -> Findings:
    """deploy.sh runs in a clean image, from a fresh clone, with MODEL_PATH and nothing else.

    So it must not need arguments, a terminal or input, other environment variables, docker, sudo, conda or an
    environment at a fixed path, folders outside the repository, files that are not committed, or weights from the
    network. Give variables defaults (`: "${TP:=1}"`), commit what is used, and leave out `conda activate`: Python,
    CANN and torch-npu are in the image. Files that a variable names for a library to open (RANK_TABLE_FILE,
    VLLM_LOGGING_CONFIG_PATH) count as well, and so do Python modules that neither the image has nor an installation
    of requirements.txt or deploy.sh brings, those in options of vLLM (--worker-cls, --logits-processors …) among
    them, and an engine other than vLLM that nothing installs.

    What the rehearsal saw fail is reported with its line; a line that goes on without (`… || true`) is not.
    """
    seen: set[tuple[str, str]] = set()
    said = complaints(plan.run.stderr, plan.script)
    if plan.server is not None:
        said = tuple(each for each in said if not each.guarded)
    excused = limits_of_the_sandbox(plan, said)
    for each in said:
        if refused_weights(plan, each.text):
            continue  # plan/starts-server says it where that ends deploy.sh
        if each in excused or "#!" in each.name or r"\r" in each.name or refused(plan, each.text):
            continue  # line ends and first lines have their own findings
        if (each.kind, each.name) not in seen:
            seen.add((each.kind, each.name))
            yield from _missing(plan, each)
    yield from _missing_option_files(plan)
    yield from _missing_variable_files(plan)
    yield from missing_packages.missing_code(plan)
    yield from missing_packages.foreign_engines(plan)
    yield from _hub_names(plan)
    yield from _emptied(plan)
    yield from _image_folders(plan, [each for each in said if each not in excused])
    yield from _processor(plan)
    yield from _usage(plan, already=bool({"argument", "variable"} & {kind for kind, _ in seen}))
    yield from _downloads(plan)
    yield from _installs(plan)
    yield from _environment_scripts(plan)


def _missing(plan: LaunchPlan, said: Complaint) -> Iterator[Finding]:
    if said.kind in {"syntax", "option"}:
        return  # plan/starts-server and repo/deploy-sh-syntax say it
    what, fix = remedy(plan, said)
    serves = plan.server is not None
    if said.kind == "file" and serves and not said.where and "python" not in said.text:
        if not deploy_sh.is_written(plan.script, said.name):
            yield warn(expected=_EXPECTED, seen=said.text, fix=f"commit {said.name}, or do without it")
    elif is_of_the_image(plan, said) or (serves and _is_foreign_step(plan, said)):
        yield warn(expected=_EXPECTED, seen=f"it needs {what}: {said.text}", fix=fix, where=said.where)
    elif said.kind == "command" and (said.name in BASH_ONLY or serves):
        yield warn(expected=_EXPECTED, seen=f"{said.name} is not there: {said.text}", fix=fix, where=said.where)
    else:
        yield fail(expected=_EXPECTED, seen=f"it needs {what}: {said.text}", fix=fix, where=said.where)


def _is_foreign_step(plan: LaunchPlan, said: Complaint) -> bool:
    """Whether a step of the shell's failed for something outside the submission, and deploy.sh went on."""
    if said.kind == "command":
        return is_foreign(said.name)
    outside = said.name.startswith("/") and not said.name.startswith((f"{plan.root}/", f"{plan.model_path}/"))
    return said.kind == "file" and bool(said.where) and (outside or is_environment(said))


def _image_folders(plan: LaunchPlan, reported: Sequence[Complaint]) -> Iterator[Finding]:
    seen, where = _image_place(plan)
    if seen and not any(each.where == where or is_of_the_image(plan, each) for each in reported):
        yield warn(
            expected=_EXPECTED,
            seen=f"a place in the official vllm-ascend image: “{seen}”",
            fix="do without it: which image the service has is not documented",
            where=where,
        )


def _image_place(plan: LaunchPlan) -> tuple[str, str]:
    """What uses a folder of that image which deploy.sh does not make itself, and where; ("", "") without."""
    places = tuple(place for place in _IMAGE_PLACES if not deploy_sh.makes_folder(plan.script, place))
    line = deploy_sh.folder_line(plan.script, places)
    if line:
        return deploy_sh.line_at(plan.script, line)[:200], f"{contract.ENTRY_POINT}:{line}"
    server = plan.server
    if server and f"{server.cwd}/".startswith(tuple(f"{place}/" for place in places)):
        return f"{server.command} in {server.cwd}", server.where
    return "", ""


def _processor(plan: LaunchPlan) -> Iterator[Finding]:
    line = deploy_sh.processor_line(plan.script)
    if line:
        yield warn(
            expected="the same on every processor: which one the service has is not documented",
            seen=f"“{deploy_sh.line_at(plan.script, line)[:200]}” decides by it, and the rehearsal saw "
            f"{platform.machine()} alone",
            fix="do without it, or make sure that every branch is right",
            where=f"{contract.ENTRY_POINT}:{line}",
        )


def _usage(plan: LaunchPlan, *, already: bool) -> Iterator[Finding]:
    """A script that ended on its own before any server: what it needs, where words or last line tell it."""
    if plan.servers or already or plan.run.ended_by != "exit":
        return
    said = f"{plan.run.stdout}\n{plan.run.stderr}".strip()
    what, line = _need(plan, said)
    if what:
        yield fail(
            expected=_EXPECTED,
            seen=f"it ended with status {plan.run.exit_status} and seems to need {what}"
            + (f"; it said {said[-200:]!r}" if said else ""),
            fix=demanded(plan, what.rpartition(" ")[2])
            if what.startswith("the environment variable")
            else "give everything a default; the service passes no arguments and types nothing",
            where=f"{contract.ENTRY_POINT}:{line}",
        )


def _need(plan: LaunchPlan, said: str) -> tuple[str, int]:
    """What a script that ended seems to need, and the line; ("", 0) where nothing tells it."""
    arguments = deploy_sh.argument_line(plan.script)
    if arguments and re.search(r"\busage\b|用法|\barguments?\b", said, re.IGNORECASE):
        return "arguments", arguments
    where = trace.stop(plan)
    if plan.run.exit_status and where.line:
        own = deploy_sh.find_line(plan.script, ["set --", "set $"])
        all_of_them = deploy_sh.uses_all_arguments(plan.script, where.line)
        if not own and (all_of_them or (arguments and trace.asks(plan, where, trace.ARGUMENTS))):
            return "arguments", where.line
        if trace.asks(plan, where, trace.INPUT):
            return "input from a terminal", where.line
        tested = trace.tested_variable(plan, where)
        if tested:
            return f"the environment variable {tested}", where.line
    name, line = deploy_sh.required_variable(plan.script, said)
    return (f"the environment variable {name}", line) if name else ("", 0)


def _downloads(plan: LaunchPlan) -> Iterator[Finding]:
    for command in plan.commands:
        text, said = " ".join(command.argv[:12]), command_text(command.argv[:12])
        if command.program == "python:download":
            said = f"of {' '.join(command.argv[1:])[:NAME_CHARACTERS]}, by a call in Python (snapshot_download …)"
        downloads = command.program in _DOWNLOADERS and "download" in command.argv[:3]
        clones = command.program == "git" and "clone" in command.argv[:3]
        if downloads or command.program == "python:download" or (_HUB.search(text) and (clones or "://" in text)):
            yield fail(
                expected="the weights come from MODEL_PATH, and nothing is fetched to start",
                seen=f"a download from a hub: {said}",
                fix='leave the download out and use "$MODEL_PATH"',
                where=_call_place(plan) or command.where if command.program == "python:download" else command.where,
                rule=contract.WEIGHTS_FROM_MODEL_PATH,
            )
        elif (
            clones
            or command.program in {"wget", "curl", "aria2c"}
            or (
                command.program in _SYSTEM_PACKAGES
                and {"install", "update"} & set(command.argv)
                and deploy_sh.stops_at_errors(plan.script, command.where)
            )
        ):
            yield warn(
                expected="a start without the network, which may not be there",
                seen=said,
                fix="commit what is needed",
                where=command.where,
            )


def _call_place(plan: LaunchPlan) -> str:
    """Where deploy.sh itself has the Python call that downloads, "" where it has none."""
    line = deploy_sh.find_line(plan.script, _DOWNLOAD_CALLS)
    return f"{contract.ENTRY_POINT}:{line}" if line else ""


def _missing_option_files(plan: LaunchPlan) -> Iterator[Finding]:
    server = plan.server
    for spelled in server.missing_files if server else ():
        name = spelled.replace("=", " ", 1).partition(" ")[2]
        say = warn if is_in_the_image(name) else fail
        yield say(
            expected=_EXPECTED,
            seen=f"{spelled}: there is no such file when the server starts",
            fix=_ship(plan, name),
            where=_option_place(plan, spelled),
        )


def _missing_variable_files(plan: LaunchPlan) -> Iterator[Finding]:
    servers = [server for server in plan.servers if server.foreground]
    for setting, engine in dict.fromkeys((each, s.engine) for s in servers for each in s.missing_variables):
        name, _, value = setting.partition("=")
        opened = engine == "vllm" and name in _VLLM_OPENS and not is_in_the_image(value)
        say = fail if opened else warn
        yield say(
            expected=_EXPECTED,
            seen=f"{shortened(setting, NAME_CHARACTERS)}: there is no such file when the server starts"
            + ("" if opened else "; whether that ends it depends on what reads it"),
            fix=f"{_ship(plan, value)}; or do not export {name}",
            where=_option_place(plan, setting),
        )


def _ship(plan: LaunchPlan, name: str) -> str:
    if name.startswith(plan.model_path):
        return "name a file that the weights have, or ship it in the repository"
    inside = name.removeprefix(f"{plan.root}/")
    if inside.startswith("/"):
        return f"copy {inside} into the repository, commit it, and name it by its path there"
    return f"commit {inside}, or correct the path"


def _hub_names(plan: LaunchPlan) -> Iterator[Finding]:
    for spelled in plan.server.hub_names if plan.server else ():
        yield warn(
            expected="a start without the network, which may not be there",
            seen=f"{spelled[:NAME_CHARACTERS]}: no such folder, so the engine looks for it on a hub",
            fix="ship it in the repository or with the weights, and name it by its path",
            where=_option_place(plan, spelled),
        )


def _option_place(plan: LaunchPlan, spelled: str) -> str:
    line = deploy_sh.find_line(plan.script, [spelled, *spelled.replace("=", " ").split()])
    return f"{contract.ENTRY_POINT}:{line}" if line else ""


def _emptied(plan: LaunchPlan) -> Iterator[Finding]:
    """A server that is started without its model or port because an argument or an answer was not given."""
    server = plan.server
    if server is None or not (server.model == "" or _lost_value(server)):
        return
    what, line = deploy_sh.empty_line(plan.script)
    if what:
        yield fail(
            expected=_EXPECTED,
            seen=f"it needs {what}: “{deploy_sh.line_at(plan.script, line)}” gives nothing, and the server is "
            f"started with: {server.command}",
            fix="give everything a default; the service passes no arguments and types nothing",
            where=f"{contract.ENTRY_POINT}:{line}",
        )


def _lost_value(server: ServerCommand) -> bool:
    """Whether the model or the port is an option or a place on the command line with nothing in it."""
    bare = server.port is None and re.fullmatch(r"-[\w-]+[= ]?", server.port_source) is not None
    return bare or any(server.options.get(name) == "" for name in ("model", "model-path"))


def _installs(plan: LaunchPlan) -> Iterator[Finding]:
    """Packages that the image brings, installed again over it, where deploy.sh itself does not spell them out."""
    plain = {word for _, word, _ in packages.installed_by(plan.script)}
    for number, command in enumerate(plan.commands, 1):
        words = command.argv[1:]
        if "uninstall" in words[:4]:
            yield from _uninstalled(command, plan.commands[number:])
        if not is_install(command):
            continue
        for word in words:
            if word not in plain and _PROVIDED.match(word.lower()):
                yield warn(
                    expected="the image's own torch, torch-npu, vllm and vllm-ascend, which fit together",
                    seen=f"{word[:NAME_CHARACTERS]} is installed: {command_text(command.argv[:12])}",
                    fix=f"leave {word} out",
                    where=command.where,
                    rule=contract.PROVIDED,
                )


def _uninstalled(command: RecordedCommand, later: Sequence[RecordedCommand]) -> Iterator[Finding]:
    for word in command.argv[1:]:
        if word.lower() not in _NEEDED:
            continue
        again = next((each for each in later if is_install(each) and _installs_package(each, word)), None)
        say = warn if again else fail
        yield say(
            expected=f"{word}, which the server needs and the image brings",
            seen=f"it is removed: {command_text(command.argv)}"
            + (f"; and installed again: {command_text(again.argv)}" if again else ""),
            fix=f"leave {word} installed",
            where=command.where,
        )


def _installs_package(command: RecordedCommand, package: str) -> bool:
    """Whether one of its words is the package: a name with a version or an extra, a wheel, a folder, an address.

    The words are those of its command line and of the lists of packages that it names; `.` is its folder.
    """
    name = re.escape(package.lower().replace("_", "-"))
    form = re.compile(rf"(?:^|/){name}(?:$|[=<>~!\[@; /]|-\d|\.git)")
    words = [command.cwd if word == "." else word for word in command.argv[2:]]
    words += [line.strip() for text in command.texts.values() for line in text.splitlines()]
    return any(form.search(word.lower().replace("_", "-")) for word in words)


def _environment_scripts(plan: LaunchPlan) -> Iterator[Finding]:
    texts = {
        "atb-under-u": ("sourced under set -u, though ATB's script reads unset variables", "set +u around it"),
        "cann-without-bash": (
            "sourced by a shell that is not bash, though it is written for bash",
            "use #!/bin/bash",
        ),
    }
    for name, (seen, fix) in texts.items():
        if name in plan.notes:
            line = deploy_sh.find_line(plan.script, ["set_env.sh"])
            place = f"{contract.ENTRY_POINT}:{line}" if line else ""
            yield warn(
                expected="CANN's environment script runs", seen=f"set_env.sh is {seen}", fix=fix, where=place
            )
