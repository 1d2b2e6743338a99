"""Repairs for findings: for a server's options, and for what deploy.sh needs but lacks."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from healthcheck import contract
from healthcheck.core.commands import Commanded
from healthcheck.engines.base import EVERYWHERE
from healthcheck.stages.plan import calls, requested
from healthcheck.stages.plan.dry_run.stubs import programs
from healthcheck.stages.plan.image import (
    IMAGE_FOLDERS,
    IMAGE_PACKAGES,
    IMAGE_SOURCES,
    INSTALLED_ONLY,
    OTHER_ENGINES,
    STUBBED,
    engines_looked_for,
    looks_for,
)
from healthcheck.stages.plan.records import LaunchPlan, Origin, ServerCommand
from healthcheck.stages.plan.script import causes, deploy_sh
from healthcheck.stages.plan.script.arguments import Arguments, Edits
from healthcheck.stages.plan.script.causes import Cause
from healthcheck.stages.plan.script.sourced import Overwriting, without_variable
from healthcheck.stages.plan.script.stderr import Complaint, Need
from healthcheck.stages.plan.servers.options import vllm_grammar
from healthcheck.stages.repo import packages
from healthcheck.stages.repo.bashisms import IN_BASH
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg

_CANN = "/usr/local/Ascend/ascend-toolkit"
"""The place of CANN in the official vllm-ascend image. Source: its Dockerfile."""
BASH_ONLY = {"source", "[["}
_OUTSIDE = {
    msg("a container engine"): ("docker", "podman", "nerdctl", "docker-compose"),
    msg("a cluster"): ("kubectl", "srun", "sbatch"),
    "sudo": ("sudo",),
    msg("another user"): ("su",),
    "conda": ("conda", "mamba", "micromamba"),
    "bash": ("source",),
    msg("a system manager"): ("systemctl", "service"),
    msg("a terminal"): ("screen", "tmux"),
    msg("an NVIDIA GPU"): ("nvidia-smi",),
    msg("another machine"): ("ssh", "rsync"),
    "MPI": ("mpirun",),
    msg("an activated environment"): ("activate",),
}
_FOREIGN = {program: what for what, programs in _OUTSIDE.items() for program in programs}
_LISTED = 4
_USERS = {"sudo", "su"}
_AROUND = {"a container engine", "a terminal", "a cluster"}
"""What launch scripts wrap the server's command in."""
_SECRET = re.compile(r"(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD)$")
_MODEL = re.compile(r"^(?:\w+_)?MODEL(?:_(?:PATH|DIR|NAME|ID))?$")
_ENVIRONMENT = re.compile(
    r"/(?:bin/(?:activate|python|pip)|etc/profile\.d/conda|envs/)|conda|venv|virtualenv|pyenv"
)


def port(server: ServerCommand) -> str:
    """How to make this engine listen on the required port."""
    if server.engine.settings_file is None and server.option("uds") is not None:
        return msg("remove --uds")
    if _in_python(server):
        return msg("write port={port} where the Python program starts it", port=contract.PORT)
    return server.engine.port_repair(contract.PORT)


def host(server: ServerCommand) -> str:
    """How to make this engine listen on every interface."""
    if _in_python(server):
        return msg(
            'write host="{everywhere}" where the Python program starts it', everywhere=EVERYWHERE
        )
    return server.engine.host_repair(server.port or contract.PORT)


def name(server: ServerCommand, option: str, model_path: str) -> str:
    """How to serve the model under the name that is asked for; `option` is the option that sets another name."""
    engine = server.engine
    spelled = f"--{option}" if option else engine.options.name
    if own := contract.service().requested(""):
        return engine.name_repair(spelled, own)
    if option and engine.serving.named_by_path and model_path in server.argv:
        return msg("remove --{option} and its value", option=option)
    given = engine.path_as_name_repair(spelled)
    serves_path = engine.options.name_the_model and engine.serving.named_by_path
    if option or not serves_path:
        return given
    return msg('serve "$MODEL_PATH" itself, or {given}', given=given)


def port_edits(plan: LaunchPlan, server: ServerCommand) -> Edits:
    """Have the option of the port name the service's port; append it if the engine's own default counts."""
    return _option_edits(
        plan,
        server,
        server.engine.options.port,
        str(contract.PORT),
        server.port_source.kind is Origin.DEFAULT,
    )


def host_edits(plan: LaunchPlan, server: ServerCommand) -> Edits:
    """Have the server listen on every address."""
    option = server.engine.options.host
    return _option_edits(plan, server, option, EVERYWHERE, append=server.option(option) is None)


def _option_edits(
    plan: LaunchPlan, server: ServerCommand, option: str, value: str, append: bool
) -> Edits:
    arguments = Arguments.of(plan.script, server)
    set_elsewhere = not server.engine.options.port
    if _in_python(server) or set_elsewhere or server.option("uds") is not None:
        return ()
    at, given = arguments.option(option), server.option(option)
    if at is not None and given:
        return arguments.revalued(at, given, value)
    return (
        arguments.appended(f"{option} {value}")
        if append and given is None and server.option("config") is None
        else ()
    )


def name_edits(plan: LaunchPlan, server: ServerCommand, option: str) -> Edits:
    """Remove the option of another name, if the engine then serves the model under its path."""
    by_path = server.engine.serving.named_by_path and plan.model_path in server.argv
    if contract.service().requested("") or not option or not by_path:
        return ()
    return without_option(plan, server, option)


def key_edits(plan: LaunchPlan, server: ServerCommand, key: str) -> Edits:
    """Remove the option or the variable that demands a key."""
    return without_option(plan, server, key) if key.startswith("-") else without_variable(plan, key)


def model_edits(plan: LaunchPlan, server: ServerCommand, overwritten: Overwriting | None) -> Edits:
    """Serve $MODEL_PATH itself, or keep its value if a line overwrites it."""
    if overwritten:
        edits = without_variable(plan, contract.MODEL_PATH_VARIABLE)
        places = [(edit.file, edit.line) for edit in edits]
        return edits if places == [(overwritten.file, overwritten.line)] else ()
    given = server.env.get(contract.MODEL_PATH_VARIABLE)
    if not server.engine.options.name_the_model or given not in {None, plan.model_path}:
        return ()
    arguments, quoted = Arguments.of(plan.script, server), f'"${contract.MODEL_PATH_VARIABLE}"'
    for option in ("--model", "--model-path"):
        at, value = arguments.option(option), server.option(option)
        if at is not None and value:
            return arguments.revalued(at, value, quoted)
    if server.argv and server.argv[0] and not server.argv[0].startswith("-"):
        return arguments.rewritten(0, quoted)
    return ()


def without_option(plan: LaunchPlan, server: ServerCommand, option: str) -> Edits:
    """Remove an option of the server with its value."""
    arguments = Arguments.of(plan.script, server)
    at, name = arguments.option(option), option.lstrip("-").replace("_", "-")
    if at is None:
        return ()
    grammar, values = vllm_grammar(), arguments.values_after(at)
    many = server.engine.is_catalogued and name in grammar.many
    if many and values > 1 and name != "served-model-name":
        return ()  # the weights may be among its values
    return arguments.removed(at, values if many else min(values, 1), many=many)


def no_tls(server: ServerCommand) -> str:
    """How to make this engine answer plain HTTP."""
    return server.engine.no_tls_repair()


def line_ends(*files: str) -> Commanded:
    """How to end the lines of committed files in LF, now and after the next checkout."""
    names = shlex.join(files)
    patterns = [shlex.quote(f"{posixpath.normpath(file)} text eol=lf") for file in files]
    kept = " && ".join(f"echo {pattern} >> .gitattributes" for pattern in patterns)
    committed = f"git add {names} .gitattributes && git commit -m 'End lines in LF'"
    return Commanded(
        msg("end the lines of {file} in LF", file=", ".join(files)),
        f"sed -i 's/\\r$//' {names} && {kept} && {committed}",
    )


def _executable(file: str) -> Commanded:
    """How to make a file of the repository executable, in the working copy and in the commit."""
    path, message = shlex.quote(file), shlex.quote(f"Make {file} executable")
    return Commanded(
        msg("make {file} executable (or run it with sh)", file=file),
        f"chmod +x {path} && git update-index --chmod=+x {path} && git commit -m {message}",
    )


def own_model_path(place: Overwriting) -> str:
    """How to repair a line that changes MODEL_PATH."""
    return msg(
        "remove line {line} of {file}: it overwrites the MODEL_PATH that the service sets",
        line=place.line,
        file=place.file,
    )


def _in_python(server: ServerCommand) -> bool:
    return bool(server.argv) and server.argv[0].startswith(calls.CALL)


def _shipped(plan: LaunchPlan, name: str) -> str:
    return name.removeprefix(f"{plan.root}/").removeprefix("./")


def demanded(plan: LaunchPlan, name: str) -> str:
    """How to repair the use of an environment variable that the service does not set."""
    if _SECRET.search(name):
        return msg(
            "remove every use of {name}: the service provides no token and sends no key", name=name
        )
    default = _default(plan, name)
    if default:
        return msg("give it a default: ${{{name}:-{default}}}", name=name, default=default)
    return msg(
        "assign {name} in deploy.sh, above its first use: the service sets MODEL_PATH only",
        name=name,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What deploy.sh needs, and the repair.

    Attributes:
        seen: the cause of the message, in a sentence.
        where: the line of the cause, "" if unknown.
        cause: the cause, if it is another one than the missing thing.
    """

    seen: str
    fix: str
    where: str = ""
    cause: Cause | None = None


def remedy(plan: LaunchPlan, said: Complaint) -> Remedy:
    """The cause of a message and its repair."""
    cause = causes.of_variable(plan, said.name, _line(said)) if said.kind is Need.VARIABLE else None
    if cause and cause.seen:
        return Remedy(seen=cause.seen, fix=cause.fix, where=cause.where, cause=cause)
    if said.kind is Need.FILE and (unshipped := causes.unshipped_path(plan, said.name)):
        name = _shipped(plan, said.name)
        seen = msg(
            "{name} is in your folder but not in the commit: {text}", name=name, text=said.text
        )
        return Remedy(seen=seen, fix=causes.commit(unshipped), where=said.where)
    what, fix = _needed(plan, said)
    return Remedy(
        seen=msg("it needs {what}: {text}", what=what, text=said.text), fix=fix, where=said.where
    )


def _needed(plan: LaunchPlan, said: Complaint) -> tuple[str, str]:  # noqa: PLR0911 - one return a case
    """What deploy.sh needs, in words, and the repair."""
    name = said.name
    match said.kind:
        case Need.FILE:
            return _file(plan, said)
        case Need.COMMAND:
            return _command(plan, said)
        case Need.VARIABLE:
            return msg("the environment variable {name}", name=name), demanded(plan, name)
        case Need.ARGUMENT:
            return msg("an argument"), _argument(plan, said)
        case Need.MODULE:
            return msg("the Python module {name}", name=name), _module(name)
        case Need.TERMINAL:
            return msg("a terminal"), msg("do not ask for input")
        case Need.PERMISSION:
            return msg("permission for {name}", name=name), _executable(_shipped(plan, name))
        case Need.OPTION:
            return msg("a line's end"), msg(
                "end the line above in a backslash; move comments above the command"
            )
        case Need.SYNTAX:
            if plan.run.shell == "sh":
                return msg("valid syntax for sh"), msg(
                    "make #!/bin/bash the first line, if bash -n deploy.sh accepts it"
                )
            return msg("valid syntax"), msg("correct the syntax there; bash -n deploy.sh checks it")


def _argument(plan: LaunchPlan, said: Complaint) -> str:
    if not said.where:
        return msg(
            "pass {name} to that program in deploy.sh; the service passes no arguments",
            name=said.name,
        )
    default = _default(plan, said.name) if said.name.isdigit() else ""
    if default:
        return msg(
            "give it a default: ${{{name}:-{default}}}; the service passes no arguments",
            name=said.name,
            default=default,
        )
    return msg("give it a default; the service passes no arguments")


def _default(plan: LaunchPlan, name: str) -> str:
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
    model = rf"(?:\bvllm\s+serve\s+|\bapi_server\s+|--(?:model|model-path|served-model-name)[\s=]+|\s-m\s+){use}"
    if name.endswith("VISIBLE_DEVICES"):
        return "0"
    if _MODEL.search(name) is not None or re.search(model, code):
        return f"${contract.MODEL_PATH_VARIABLE}"
    if re.search(rf"(?:\bmkdir\s(?:-\w+\s)*|>\s*){use}", code):
        return f"./{name.lower()}"
    return "." if re.search(rf"{use}\}}?[\"']?/", code) else ""


def is_foreign(name: str) -> bool:
    """Whether the service's image lacks the program."""
    return name.rpartition("/")[2] in _FOREIGN


def is_environment(said: Complaint) -> bool:
    """Whether the complaint is about a file of a Python environment."""
    return said.kind is Need.FILE and _ENVIRONMENT.search(said.name) is not None


def is_of_the_image(plan: LaunchPlan, said: Complaint) -> bool:
    """Whether the complaint is about a file that the official vllm-ascend image, and so the service's, may have."""
    if said.kind is not Need.FILE:
        return False
    number = _line(said) or deploy_sh.find_line(plan.script, [said.name])
    folder = deploy_sh.folder_at(plan.script, number, said.name) if number else ""
    return is_in_the_image(str(PurePosixPath(folder, said.name)))


def may_be_installed(plan: LaunchPlan, said: Complaint) -> str:
    """Why it is unknown whether a missing program is there at the service; "" if it is not there for certain."""
    if said.kind is Need.COMMAND and said.name in engines_looked_for(plan.script):
        return unknown_engines((said.name,))
    ordinary = (
        said.kind is Need.COMMAND and re.fullmatch(r"[A-Za-z][\w.+-]*", said.name) is not None
    )
    if not ordinary or is_foreign(said.name) or said.name in BASH_ONLY or said.name in STUBBED:
        return ""
    if programs.package_with(said.name, programs.OF_SYSTEM):
        return ""
    unknown = requested.packages_of_unknown_programs(plan)
    if not unknown:
        return ""
    shown = ", ".join(unknown[:_LISTED])
    return msg(
        "whether an installed package ({packages}) has the program {name} is unknown",
        packages=shown,
        name=said.name,
    )


def unknown_engines(names: Sequence[str]) -> str:
    """Why the outcome is unknown of a script that asks for these engines."""
    return msg(
        "whether the service's image has {engines} is unknown: the official vllm-ascend image does not have it, "
        "and the images for other engines are not documented",
        engines=", ".join(names),
    )


def install_engine() -> str:
    """How to do without an engine that only another image may have."""
    return msg("install it in deploy.sh") + msg(", or: {launch}", launch=contract.LAUNCH)


def is_in_the_image(place: str) -> bool:
    """Whether the official vllm-ascend image may have a file at an absolute path."""
    return place.startswith((IMAGE_SOURCES, IMAGE_PACKAGES)) or place in IMAGE_FOLDERS


def _line(said: Complaint) -> int:
    """The line of deploy.sh in the complaint; 0 for none."""
    file, _, line = said.where.partition(":")
    return int(line) if file == contract.ENTRY_POINT and line.isdigit() else 0


def _is_written_to(plan: LaunchPlan, said: Complaint) -> bool:
    """Whether the failed line writes the file."""
    source = deploy_sh.line_at(plan.script, _line(said))
    targets = re.findall(r">>?\s*[\"']?([^\s\"'&;|]+)", source)
    base = PurePosixPath(said.name).name
    spelled = any("$" in target or PurePosixPath(target).name == base for target in targets)
    return "/" in said.name and ("cannot create" in said.text or (bool(targets) and spelled))


def _module(name: str) -> str:
    if packages.is_cuda_module(name.partition(".")[0]):
        return msg("remove it: it is made for CUDA, which the service's image does not have")
    return msg("commit the module {name}, or name its package in requirements.txt", name=name)


def _command(plan: LaunchPlan, said: Complaint) -> tuple[str, str]:
    name = said.name
    base, line = name.rpartition("/")[2], deploy_sh.line_at(plan.script, _line(said))
    if base in BASH_ONLY:
        return _FOREIGN.get(base, "bash"), msg(
            "begin deploy.sh with #!/bin/bash, and below it: {in_bash}", in_bash=IN_BASH
        )
    what: str = msg("the program {name}", name=name)
    if re.match(rf"{re.escape(name)}\s+=", line):
        return what, msg(
            "take the blanks around = out: “{line}” runs a program {name}", line=line, name=name
        )
    if name in STUBBED - INSTALLED_ONLY and not looks_for(plan.script, name):
        return what, msg(
            "keep the search path that finds {name}: add to $PATH, never replace it", name=name
        )
    if name in OTHER_ENGINES:
        return what, install_engine()
    what = _FOREIGN.get(base) or what
    fix = msg(
        "do without {name}: the service's image has Python, CANN and torch-npu{hint}",
        name=name,
        hint=hint(base, STUBBED),
    )
    if base in _USERS:
        fix = msg(
            "remove {name}: the service runs deploy.sh as one user, in its own image", name=name
        )
    elif what not in _AROUND and (command := _installation(base)):
        fix = msg("install it in deploy.sh: {command}", command=command)
    elif what in _AROUND:
        end = contract.LAUNCH
        fix = msg(
            "do without {name}: deploy.sh runs in the service's image; end it with: {launch}",
            name=name,
            launch=end,
        )
    return what, fix


def _installation(program: str) -> str:
    """The command that installs a program whose package is known; "" for others."""
    if package := programs.package_with(program, programs.OF_SYSTEM):
        return f"apt-get update && apt-get install -y {package}"
    package = programs.package_with(program, programs.OF_PYTHON)
    return f"pip install {package}" if package else ""


def _file(plan: LaunchPlan, said: Complaint) -> tuple[str, str]:
    name = _shipped(plan, said.name)
    if _ENVIRONMENT.search(name):
        return msg("an environment at a fixed place: {name}", name=name), msg(
            "remove it: use the image's own Python"
        )
    if is_of_the_image(plan, said):
        fix = msg("remove it: the image of the service is not documented")
        return msg("{name}, a place in the official vllm-ascend image", name=name), fix
    if _is_written_to(plan, said):
        made = msg(
            "make it first: mkdir -p {folder}", folder=shlex.quote(str(PurePosixPath(name).parent))
        )
        return msg("the folder of {name}, which is not in the repository", name=name), made
    if PurePosixPath(name).is_absolute():
        fix = msg("use a path in the repository, or make the folder first")
        if said.text.rstrip().endswith(f"can't cd to {name}") or ": cd: " in said.text:
            fix = msg('enter the repository wherever it is: cd -- "$(dirname -- "$0")"')
        elif name.endswith("/set_env.sh"):
            fix = msg(
                "source it only where it is: if [ -r {name} ]; then . {name}; fi; the image's CANN is in {cann}",
                name=name,
                cann=_CANN,
            )
        return msg("{name}, which is not there at the service", name=name), fix
    seen = msg("{name}, which is not in the repository", name=name)
    unfilled = (
        re.search(rf"<{re.escape(name)}\b[^<>\n./]{{0,80}}(?<=\S)>", plan.script)
        if name.isalnum()
        else None
    )
    value = unfilled and msg(
        "write the value itself in place of {placeholder}", placeholder=unfilled[0]
    )
    return seen, value or msg("commit {name}, or correct the path", name=name)
