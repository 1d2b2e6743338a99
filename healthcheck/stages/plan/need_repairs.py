"""Repairs of what deploy.sh needs but its environment lacks: a sentence about the need, and an order."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath

from healthcheck import contract
from healthcheck.core.commands import Commanded, file_words
from healthcheck.engines.base import EVERYWHERE
from healthcheck.stages.plan.dry_run.stubs import programs
from healthcheck.stages.plan.foreign_programs import BASH_ONLY, CHANGES_USER, surroundings
from healthcheck.stages.plan.image import INSTALLED_ONLY, OTHER_ENGINES, STUBBED, looks_for
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.script import causes, deploy_sh, own_folder
from healthcheck.stages.plan.script.causes import Cause
from healthcheck.stages.plan.script.missing_files import (
    is_file_to_write,
    is_in_environment,
    may_be_file_of_image,
)
from healthcheck.stages.plan.script.stderr import Complaint, Need
from healthcheck.stages.repo import packages
from healthcheck.stages.repo.bashisms import IN_BASH
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg

_NO_SCRIPT = "can't open file"
"""Python's words for a program that is not there; it completes the path, and names no line of deploy.sh."""
_CANN = "/usr/local/Ascend/ascend-toolkit"
"""The place of CANN in the official vllm-ascend image. Source: its Dockerfile."""
_SECRET_NAME = re.compile(r"(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD)$")
_MODEL_NAME = re.compile(r"^(?:\w+_)?MODEL(?:_(?:PATH|DIR|NAME|ID))?$")
_MODEL_OPTIONS = (
    r"\bvllm\s+serve\s+|\bapi_server\s+|--(?:model|model-path|served-model-name)[\s=]+|\s-m\s+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRepair:
    """What deploy.sh needs, and the repair.

    Attributes:
        seen: the need, or the cause of the missing value, in a sentence that quotes the message.
        where: the line to repair, "" if unknown.
        cause: the cause, if it is another one than the missing thing.
    """

    seen: str
    fix: str
    where: str = ""
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class _Need:
    """A thing that deploy.sh needs, in words, and the order that repairs it."""

    thing: str
    fix: str


def need_repair(plan: LaunchPlan, complaint: Complaint) -> NeedRepair:
    """The need that a message reports, and its repair; the cause instead, if it is known."""
    cause = None
    if complaint.kind is Need.VARIABLE:
        cause = causes.of_variable(plan, complaint.name, complaint.line)
    if cause and cause.seen:
        return NeedRepair(seen=cause.seen, fix=cause.fix, where=cause.where, cause=cause)
    if complaint.kind is Need.FILE and (unshipped := causes.unshipped_path(plan, complaint.name)):
        seen = msg(
            "{name} is in your folder but not in the commit: {text}",
            name=plan.in_repository(complaint.name),
            text=complaint.text,
        )
        file = causes.file_to_commit(plan, complaint.name, unshipped)
        return NeedRepair(seen=seen, fix=causes.commit(file), where=complaint.where)
    need = _need(plan, complaint)
    seen = msg("it needs {what}: {text}", what=need.thing, text=complaint.text)
    return NeedRepair(seen=seen, fix=need.fix, where=complaint.where)


def variable_repair(plan: LaunchPlan, name: str) -> str:
    """How to repair the use of an environment variable that the service does not set."""
    if _SECRET_NAME.search(name):
        return msg(
            "remove every use of {name}: the service provides no token and sends no key", name=name
        )
    default = _guessed_value(plan, name)
    if default:
        return msg("give it a default: ${{{name}:-{default}}}", name=name, default=default)
    return msg(
        "assign {name} in deploy.sh, above its first use: the service sets MODEL_PATH only",
        name=name,
    )


def engine_repair() -> str:
    """How to do without an engine that only another image may have."""
    return msg("install it in deploy.sh") + msg(", or: {launch}", launch=contract.LAUNCH)


def _need(plan: LaunchPlan, complaint: Complaint) -> _Need:  # noqa: PLR0911 - one return a case
    match complaint.kind:
        case Need.COMMAND:
            return _command(plan, complaint)
        case Need.FILE:
            return _file(plan, complaint)
        case Need.VARIABLE:
            return _variable(plan, complaint)
        case Need.ARGUMENT:
            return _argument(plan, complaint)
        case Need.MODULE:
            return _module(complaint)
        case Need.PERMISSION:
            return _permission(plan, complaint)
        case Need.SYNTAX:
            return _syntax(plan)
        case Need.TERMINAL:
            return _Need(msg("a terminal"), msg("do not ask for input"))
        case Need.OPTION:
            return _Need(
                msg("a line's end"),
                msg("end the line above in a backslash; move comments above the command"),
            )


def _variable(plan: LaunchPlan, complaint: Complaint) -> _Need:
    thing = msg("the environment variable {name}", name=complaint.name)
    return _Need(thing, variable_repair(plan, complaint.name))


def _argument(plan: LaunchPlan, complaint: Complaint) -> _Need:
    return _Need(msg("an argument"), _argument_repair(plan, complaint))


def _argument_repair(plan: LaunchPlan, complaint: Complaint) -> str:
    name = complaint.name
    if not complaint.where:
        return msg(
            "pass {name} to that program in deploy.sh; the service passes no arguments", name=name
        )
    default = _guessed_value(plan, name) if name.isdigit() else ""
    if default:
        return msg(
            "give it a default: ${{{name}:-{default}}}; the service passes no arguments",
            name=name,
            default=default,
        )
    return msg("give it a default; the service passes no arguments")


def _guessed_value(plan: LaunchPlan, name: str) -> str:
    """Guess the required value of a variable or an argument from its use; "" if the use does not tell."""
    use = rf"[\"']?\$\{{?{re.escape(name)}(?!\w)"
    code = "\n".join(line for _, line in deploy_sh.code_lines(plan.script)).replace("\\\n", " ")
    for options, value in (
        (r"--port|--server-port|(?<!mkdir )(?<!test )-p", str(contract.PORT)),
        (r"--host|--server-name", EVERYWHERE),
        (r"--(?:tensor|pipeline|data)-parallel-size|-tp|-pp|-dp|--[tpd]p", "1"),
        (r"--gpu-memory-utilization", "0.9"),
    ):
        if re.search(rf"\s(?:{options})[\s=]+{use}", code):
            return value
    if name.endswith("VISIBLE_DEVICES"):
        return "0"
    if _MODEL_NAME.search(name) or re.search(rf"(?:{_MODEL_OPTIONS}){use}", code):
        return f"${contract.MODEL_PATH_VARIABLE}"
    if re.search(rf"(?:\bmkdir\s(?:-\w+\s)*|>\s*){use}", code):
        return f"./{name.lower()}"
    return "." if re.search(rf"{use}\}}?[\"']?/", code) else ""


def _module(complaint: Complaint) -> _Need:
    name = complaint.name
    thing = msg("the Python module {name}", name=name)
    if packages.is_cuda_module(name.partition(".")[0]):
        fix = msg("remove it: it is made for CUDA, which the service's image does not have")
    else:
        fix = msg("commit the module {name}, or name its package in requirements.txt", name=name)
    return _Need(thing, fix)


def _permission(plan: LaunchPlan, complaint: Complaint) -> _Need:
    file = plan.in_repository(complaint.name)
    path, message = file_words(file), shlex.quote(f"Make {file} executable")
    return _Need(
        msg("permission for {name}", name=complaint.name),
        Commanded(
            msg("make {file} executable (or run it with sh)", file=file),
            f"chmod +x {path} && git update-index --chmod=+x {path} && git commit -m {message}",
        ),
    )


def _syntax(plan: LaunchPlan) -> _Need:
    if plan.run.shell == "sh":
        return _Need(
            msg("valid syntax for sh"),
            msg("make #!/bin/bash the first line, if bash -n deploy.sh accepts it"),
        )
    return _Need(msg("valid syntax"), msg("correct the syntax there; bash -n deploy.sh checks it"))


def _command(plan: LaunchPlan, complaint: Complaint) -> _Need:
    name = complaint.name
    base, line = name.rpartition("/")[2], deploy_sh.line_at(plan.script, complaint.line)
    program = msg("the program {name}", name=name)
    around = surroundings(name)
    if base in BASH_ONLY:
        fix = msg("begin deploy.sh with #!/bin/bash, and below it: {in_bash}", in_bash=IN_BASH)
        return _Need(around.words if around else "bash", fix)
    if re.match(rf"{re.escape(name)}\s+=", line):
        fix = msg(
            "take the blanks around = out: “{line}” runs a program {name}", line=line, name=name
        )
        return _Need(program, fix)
    if name in STUBBED - INSTALLED_ONLY and not looks_for(plan.script, name):
        fix = msg(
            "keep the search path that finds {name}: add to $PATH, never replace it", name=name
        )
        return _Need(program, fix)
    if name in OTHER_ENGINES:
        return _Need(program, engine_repair())
    return _Need(around.words if around else program, _absent_program_repair(name))


def _absent_program_repair(name: str) -> str:
    """How to do without a program that the image lacks, or how to install it."""
    base, around = name.rpartition("/")[2], surroundings(name)
    if base in CHANGES_USER:
        return msg(
            "remove {name}: the service runs deploy.sh as one user, in its own image", name=name
        )
    if around and around.wraps_the_server:
        return msg(
            "do without {name}: deploy.sh runs in the service's image; end it with: {launch}",
            name=name,
            launch=contract.LAUNCH,
        )
    if command := _installation(base):
        return msg("install it in deploy.sh: {command}", command=command)
    return msg(
        "do without {name}: the service's image has Python, CANN and torch-npu{hint}",
        name=name,
        hint=hint(base, STUBBED),
    )


def _installation(program: str) -> str:
    """The command that installs a program whose package is known; "" for others."""
    if package := programs.package_with(program, programs.OF_SYSTEM):
        return f"apt-get update && apt-get install -y {package}"
    package = programs.package_with(program, programs.OF_PYTHON)
    return f"pip install {package}" if package else ""


def _file(plan: LaunchPlan, complaint: Complaint) -> _Need:
    name = plan.in_repository(complaint.name)
    if is_in_environment(name):
        return _Need(
            msg("an environment at a fixed place: {name}", name=name),
            msg("remove it: use the image's own Python"),
        )
    if may_be_file_of_image(plan, complaint):
        return _Need(
            msg("{name}, a place in the official vllm-ascend image", name=name),
            msg("remove it: the image of the service is not documented"),
        )
    if is_file_to_write(plan, complaint):
        folder = shlex.quote(str(PurePosixPath(name).parent))
        return _Need(
            msg("the folder of {name}, which is not in the repository", name=name),
            msg("make it first: mkdir -p {folder}", folder=folder),
        )
    if inside := _out_of_reach(plan, complaint):
        return _committed_elsewhere(plan, complaint, inside)
    if PurePosixPath(name).is_absolute():
        return _Need(
            msg("{name}, which is not there at the service", name=name),
            _absolute_path_repair(name, complaint.text),
        )
    return _Need(
        msg("{name}, which is not in the repository", name=name), _relative_path_repair(plan, name)
    )


def _out_of_reach(plan: LaunchPlan, complaint: Complaint) -> str:
    """The committed file that deploy.sh names by a path that does not lead to it; "" for another missing file."""
    inside = own_folder.committed_path(plan, complaint.name)
    is_cann = inside.rpartition("/")[2] == "set_env.sh"
    has_place = complaint.where or _NO_SCRIPT in complaint.text
    return inside if has_place and not is_cann else ""


def _committed_elsewhere(plan: LaunchPlan, complaint: Complaint, inside: str) -> _Need:
    """The need of a committed file that deploy.sh does not reach."""
    in_script = complaint.where or complaint.name in plan.script
    name = complaint.name if in_script else inside
    line = complaint.line or deploy_sh.find_line(plan.script, [name]) or 0
    change, fix = own_folder.last_change(plan.script, line), own_folder.order(plan, name, inside)
    if change is None or name.startswith("/"):
        seen = msg("{name}, which is committed as {inside}", name=name, inside=inside)
        return _Need(seen, fix)
    seen = msg(
        "{name}, which is committed, but line {line} changes the working directory before (“{command}”)",
        name=name,
        line=change.line,
        command=change.text,
    )
    return _Need(seen, fix)


def _absolute_path_repair(path: str, text: str) -> str:
    """How to do without a path that only another machine has; `text` is the message about it."""
    if text.rstrip().endswith(f"can't cd to {path}") or ": cd: " in text:
        return msg('enter the repository wherever it is: cd -- "$(dirname -- "$0")"')
    if path.endswith("/set_env.sh"):
        return msg(
            "source it only where it is: if [ -r {name} ]; then . {name}; fi; the image's CANN is in {cann}",
            name=file_words(path),
            cann=_CANN,
        )
    return msg("use a path in the repository, or make the folder first")


def _relative_path_repair(plan: LaunchPlan, path: str) -> str:
    """How to provide a file of the repository; "<name>" is a placeholder, which a shell reads as a file."""
    placeholder = None
    if path.isalnum():
        placeholder = re.search(rf"<{re.escape(path)}\b[^<>\n./]{{0,80}}(?<=\S)>", plan.script)
    if placeholder:
        return msg("write the value itself in place of {placeholder}", placeholder=placeholder[0])
    return msg("commit {name}, or correct the path", name=path)
