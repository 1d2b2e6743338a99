"""Determines why deploy.sh ended without a server, and the repair."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.engines.vllm import PROGRAM
from healthcheck.sandbox.job import KIT, EndedBy
from healthcheck.stages.plan import calls, offline_packages
from healthcheck.stages.plan.image import IMAGE_PACKAGES, engines_looked_for
from healthcheck.stages.plan.need_repairs import engine_repair, need_repair
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.plan.repairs import overwriting_repair
from healthcheck.stages.plan.requested import placeholders
from healthcheck.stages.plan.script import deploy_sh, trace
from healthcheck.stages.plan.script.line_ends import line_end_repair
from healthcheck.stages.plan.script.missing_files import may_be_file_of_image
from healthcheck.stages.plan.script.permissions import (
    caused_by_the_sandbox,
    ends_in_denial_by_the_sandbox,
    reports_denial_outside,
    reports_denied_change_of_weights,
)
from healthcheck.stages.plan.script.refusals import NAMESPACES
from healthcheck.stages.plan.script.sourced import overwriting
from healthcheck.stages.plan.script.stderr import (
    TAIL_LINES,
    Complaint,
    Need,
    error_line,
    last_lines,
)
from healthcheck.stages.plan.unknown_programs import (
    reason_engines_are_unknown,
    reason_program_is_unknown,
)
from healthcheck.text.messages import msg

LIMITS = {
    EndedBy.TIME: (
        msg("it was still running without a server at the time limit"),
        msg("start the server before anything that waits or computes for long"),
    ),
    EndedBy.PROCESSES: (
        msg("it started processes without limit"),
        msg("remove what starts process after process"),
    ),
    EndedBy.MEMORY: (
        msg("it used more memory than a start script can need"),
        msg("remove what takes the memory"),
    ),
    EndedBy.OUTPUT: (msg("it printed without limit"), msg("remove what prints without limit")),
    EndedBy.DISK: (
        msg("it filled the disk"),
        msg("remove what fills the disk; read the weights at MODEL_PATH"),
    ),
    EndedBy.RECORDS: (
        msg("it ran commands without limit"),
        msg("remove what runs command after command"),
    ),
    EndedBy.LOST: (
        msg("it killed the sandbox that it ran in"),
        msg("remove what kills processes that it did not start"),
    ),
}
"""For each end of a dry run: what was seen, and the repair."""
_WEIGHTS_MISSING = re.compile(
    r"(?:model|weight|checkpoint|\u6a21\u578b|\u6743\u91cd).*"
    r"(?:not found|not exist|missing|no such|\u672a\u627e\u5230|\u4e0d\u5b58\u5728)",
    re.IGNORECASE,
)
_MODEL_PATH = re.compile(rf"\$\{{?{contract.MODEL_PATH_VARIABLE}\b")
_REFUSAL = re.compile(r"^adapter: (?P<said>.+)$")
_ABOUT_THE_MACHINE = re.compile(r"\b(?:devices?|NPUs?)\b")
WITHOUT_NAMESPACES = msg(
    "the sandbox has no namespaces here: programs at absolute paths are the machine's own"
)
_STUB_IN_SHELL = msg(
    "deploy.sh looks into the program vllm, whose stub is a shell script without namespaces"
)
_PROGRAM_FILE = re.compile(r"\b(?:which|command -v|type -p) vllm\b")
_READER = re.compile(r"\b(?:head|sed|grep|awk|cat|read)\b")
_OTHER_MACHINE = msg(
    "the dry run shows one 910B3 of 64 GB, and the devices of the service are unknown"
)
_FEW_RIGHTS = msg(
    "the dry run has few rights outside the submission, while root in the service's image may change more"
)
_NOT_THE_REAL_ONE = msg("the stub of a library raised it, and the real library may not")
_EMPTY_FOLDER = msg(
    "the official vllm-ascend image may have that file, and its folders are empty in the dry run"
)
_OF_DEVICES = re.compile(
    r"\b(?:(?<!left on )devices?(?! or resource)|NPUs?|cards?|chips?)\b|\u5361|\u82af\u7247"
    r"|(?<![\w.])(?:Ascend[ _-]?(?:910|310|950)\w*|910(?:[ABCP_]\w*)?|310[BP]\w*|950(?:PR|DT)\w*)(?!\w|\.\w)",
    re.IGNORECASE | re.ASCII,
)
"""Words for NPUs and their kinds; with re.ASCII, a Chinese character ends a word."""
_ABSENT_IMPORT = re.compile(
    r"(?:ImportError: cannot import name '\w+' from|ModuleNotFoundError: No module named|AttributeError: module) "
    r"'(?P<module>[\w.]+)'"
)
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)')
_RAISED = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b.*$")
_CARRIAGE_RETURN = re.compile(r"(?P<file>[\w./-]+\.\w+): (?:line \d+: )?\$?'?[^\s:']*(?:\r|\\r'): ")
"""How dash and bash report an unknown word that ends in a carriage return."""
_NO_REQUIREMENT = re.compile(r"ERROR: You must give at least one requirement to ")
_NO_DISTRIBUTION = re.compile(r"ERROR: No matching distribution found for ")
_ONLY_VARIABLE = re.compile(
    r"^(?:\w+=\S* )?[\w ./-]*\bpip[\d.]* [\w\s./-]*\$\{?(?P<name>[A-Za-z_]\w*)\}?$"
)
"""A line that is a single pip command and ends in an unquoted variable."""
_LIBRARY = re.compile(r"/stubs/(?:permissive|modules|engines|patches)\.py$")
_COMMAND_WORD = re.compile(r"[a-z][a-z_-]*")
_INVALID_CHOICE = re.compile(r"^vllm: error: argument subparser: invalid choice: ", re.MULTILINE)
_NOT_THEIRS = ("<", f"{KIT}/", "/usr/lib/", "/usr/local/lib/")


@dataclass(frozen=True, slots=True)
class Ending:
    """The repair ("" for none) and its place ("launch.py:7"; "" for the whole of deploy.sh).

    Attributes:
        seen: what was missing, in a sentence; "" if the last lines say it best.
        told: `seen` says why the script ended; its last lines add nothing.
        open_because: what the dry run cannot know about the service, which leaves the check unsettled; else "".
    """

    fix: str = ""
    where: str = ""
    seen: str = ""
    told: bool = False
    open_because: str = ""


def ending(plan: LaunchPlan, said: tuple[Complaint, ...]) -> Ending:
    """The ending of the first cause that applies; `said` are the complaints of the run."""
    found = filter(None, (cause(plan, said) for cause in _CAUSES))
    return next(found, Ending(msg("make deploy.sh end with: {launch}", launch=contract.LAUNCH)))


def _sandbox(plan: LaunchPlan, said: tuple[Complaint, ...]) -> Ending | None:
    """Only limits of a sandbox without namespaces."""
    excused = caused_by_the_sandbox(plan, said)
    others = any(each.kind is not Need.SYNTAX for each in said if each not in excused)
    if not plan.observed.isolated and not others and _reads_program(plan):
        return Ending(NAMESPACES, open_because=_STUB_IN_SHELL)
    if len(excused) < len(said) or not (excused or ends_in_denial_by_the_sandbox(plan)):
        return None
    few_rights = msg(
        "{without_namespaces}, and this user may not change files of the machine",
        without_namespaces=WITHOUT_NAMESPACES,
    )
    return Ending(NAMESPACES, open_because=few_rights)


def _reads_program(plan: LaunchPlan) -> bool:
    """Whether a line of deploy.sh reads the program vllm."""
    lines = (line for _, line in deploy_sh.code_lines(plan.script))
    return any(
        (found := _PROGRAM_FILE.search(line)) and _READER.search(line, 0, found.start())
        for line in lines
    )


def _guessed(plan: LaunchPlan, said: tuple[Complaint, ...]) -> Ending | None:
    """A placeholder of a program, or a Python program that used the placeholder of a library in a decision."""
    ran = placeholders(plan)
    if ran:
        return Ending(
            open_because=msg(
                "it depends on what {programs} does, which is unknown here", programs=", ".join(ran)
            )
        )
    names = next(
        (each.argv[2:] for each in reversed(plan.commands) if each.program == calls.GUESSED), None
    )
    if names is None or any(
        each.kind in {Need.MODULE, Need.COMMAND, Need.ARGUMENT} for each in said
    ):
        return None
    return Ending(
        open_because=msg(
            "a Python program depends on what {names} really does", names=", ".join(names)
        )
    )


def _line_ends(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """Carriage returns in deploy.sh or in a helper that it sources."""
    number = next((n for n, line in enumerate(plan.script.split("\n"), 1) if "\r" in line), None)
    helper = _CARRIAGE_RETURN.search(plan.run.stderr)
    if number is None and helper is None:
        return None
    file = contract.ENTRY_POINT if number else helper["file"] if helper else ""
    return Ending(line_end_repair(file), deploy_sh.place(number))


def _limit(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    if plan.run.ended_by not in LIMITS:
        return None
    return Ending(LIMITS[plan.run.ended_by][1], deploy_sh.place(trace.stop(plan).line))


def _vllm_command(plan: LaunchPlan, said: tuple[Complaint, ...]) -> Ending | None:
    """The program vllm with another command than serve, without other errors."""
    called = next((each for each in reversed(plan.commands) if each.program == PROGRAM), None)
    word = (
        next((word for word in called.argv[1:] if not word.startswith("-")), "") if called else ""
    )
    refused_word = _INVALID_CHOICE.search(plan.run.stderr)
    if called is None or not (refused_word or (word and not said and not plan.run.exit_status)):
        return None
    launch = contract.LAUNCH
    fix = msg("write serve after vllm: {launch}", launch=launch)
    if not refused_word:
        fix = msg(
            "write vllm serve in place of vllm {word}, which starts no server: {launch}",
            word=word,
            launch=launch,
        )
    elif _COMMAND_WORD.fullmatch(word):
        fix = msg(
            "write vllm serve in place of vllm {word}, which vLLM does not know: {launch}",
            word=word,
            launch=launch,
        )
    return Ending(fix, called.where)


def _refusal(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """A message of the template's own adapter, with the repair after the last colon."""
    lines = plan.run.stderr.rstrip().splitlines()[-TAIL_LINES:]
    found = next(filter(None, map(_REFUSAL.match, reversed(lines))), None)
    if found is None:
        return None
    of_the_settings = found["said"].startswith("adapter.toml: ")
    fix = msg("as it says: {rpartition}", rpartition=found["said"].rpartition(": ")[2])
    if of_the_settings:
        fix = msg("correct {found}", found=found["said"])
    open_because = _OTHER_MACHINE if _ABOUT_THE_MACHINE.search(found["said"]) else ""
    return Ending(fix, "adapter.toml", open_because=open_because)


def _refused(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """A step that only root can do; its failure here says nothing about the submission."""
    words = last_lines(plan.run)
    if not words or not reports_denial_outside(plan, words[-1]):
        return None
    where = deploy_sh.place(trace.stop(plan).line)
    return Ending(
        fix=msg("remove that step if the server works without it"),
        where=where,
        open_because=_FEW_RIGHTS,
    )


def _missing(plan: LaunchPlan, said: tuple[Complaint, ...]) -> Ending | None:
    last = said[-1] if said else None
    if not last or last.text.strip()[:200] not in last_lines(plan.run):
        return None
    of_the_script = last.kind in {Need.SYNTAX, Need.OPTION} or "#!" in last.name
    found = need_repair(plan, last)
    return Ending(
        seen=found.seen,
        fix=found.fix,
        where=found.where,
        told=not of_the_script and last not in caused_by_the_sandbox(plan, said),
        open_because=_EMPTY_FOLDER
        if may_be_file_of_image(plan, last)
        else reason_program_is_unknown(plan, last),
    )


def _absent_import(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """An import that no release of vLLM or vllm-ascend has; plan/no-missing-imports reports it."""
    raised = next(filter(None, map(_ABSENT_IMPORT.match, reversed(last_lines(plan.run)))), None)
    if raised is None:
        return None
    is_reported = calls.is_imported(raised["module"], (each.argv for each in plan.commands))
    return (
        Ending(fix=msg("repair the import that plan/no-missing-imports reports"), told=True)
        if is_reported
        else None
    )


def _traceback(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """An exception in Python; if the stub of a library raised it, the real library may not."""
    lines = plan.run.stderr.rstrip().splitlines()
    frames = list(filter(None, map(_FRAME.match, lines)))
    raised = next((line for line in reversed(lines[-TAIL_LINES:]) if _RAISED.match(line)), "")
    theirs = [found for found in frames if not found["file"].startswith(_NOT_THEIRS)]
    of_a_stub = bool(frames) and _LIBRARY.search(frames[-1]["file"]) is not None
    if not raised or not (theirs or of_a_stub):
        return None
    where = (
        f"{theirs[-1]['file'].removeprefix(f'{plan.root}/')}:{theirs[-1]['line']}" if theirs else ""
    )
    open_because = _NOT_THE_REAL_ONE if of_a_stub else ""
    return Ending(
        fix=msg("correct what raises {raised}", raised=raised[:200]),
        where=where,
        open_because=open_because,
    )


def _image_file(plan: LaunchPlan, said: tuple[Complaint, ...]) -> Ending | None:
    """A script that inspects the files of a library; the dry run has hardly any."""
    stop = trace.stop(plan)
    if said or not plan.run.exit_status or IMAGE_PACKAGES not in stop.text:
        return None
    fix = msg("remove it: the files of the service's libraries are not documented")
    return Ending(fix, deploy_sh.place(stop.line), open_because=_EMPTY_FOLDER)


def _overwritten(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """A test of MODEL_PATH after a line that changes it."""
    stop = trace.stop(plan)
    place = overwriting(plan, contract.MODEL_PATH_VARIABLE)
    if (
        not plan.run.exit_status
        or not place
        or place.read_at > stop.line
        or not trace.asks(plan, _MODEL_PATH)
    ):
        return None
    return Ending(overwriting_repair(place), place.where)


def _model_path(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """A test of MODEL_PATH itself."""
    stop = trace.stop(plan)
    words = [line for line in last_lines(plan.run) if contract.MODEL_PATH_VARIABLE in line]
    tests = _MODEL_PATH.search(deploy_sh.line_at(plan.script, stop.line))
    if not words or not plan.run.exit_status or (stop.line and not tests):
        return None
    number = stop.line or deploy_sh.find_line(
        plan.script, [words[-1], contract.MODEL_PATH_VARIABLE]
    )
    was = plan.model_path
    fix = msg(
        "correct the test that refuses MODEL_PATH: it was set to {model_path}, the folder of the weights",
        model_path=was,
    )
    return Ending(fix, deploy_sh.place(number))


def _other_devices(plan: LaunchPlan, said: tuple[Complaint, ...]) -> Ending | None:
    """A script that queried the NPUs and rejected those of the dry run."""
    words = last_lines(plan.run)
    if said or not plan.run.exit_status or not trace.asked_for_devices(plan):
        return None
    if not (_OF_DEVICES.search(words[-1]) if words else trace.stopped_for_devices(plan)):
        return None
    fix = msg(
        "accept the NPUs that are there: their number and kind at the service are not documented"
    )
    return Ending(fix, open_because=_OTHER_MACHINE)


def _read_only(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    words = last_lines(plan.run)
    if not words or not reports_denied_change_of_weights(plan, words[-1]):
        return None
    unknown = msg("whether the service lets anything be written below MODEL_PATH is unknown")
    return Ending(msg("change a copy: cp the file to a folder of your own"), open_because=unknown)


def _no_wheel(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """A pip command without an index that does not find a package in the commit."""
    of_pip = any(map(_NO_DISTRIBUTION.match, last_lines(plan.run)))
    found = next((each for each in reversed(offline_packages.unfound(plan)) if each.certain), None)
    if found is None or not of_pip or not plan.run.exit_status:
        return None
    seen, fix = offline_packages.reason(found), offline_packages.repair(plan, found)
    return Ending(seen=seen, fix=fix, where=found.where, told=True)


def _other_engine(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """A script that asked whether an engine is there, and ended because it is not."""
    names, stop = engines_looked_for(plan.script), trace.stop(plan)
    if not names or plan.run.ended_by is not EndedBy.EXIT:
        return None
    if stop.line:
        question = re.compile(
            rf"(?<![\w.-])(?:-[vV]|which|type|hash)\s[^;&|]*\b(?:{'|'.join(map(re.escape, names))})\b"
        )
        depends = trace.asks(plan, question)
    else:
        depends = not plan.run.exit_status and any(
            deploy_sh.runs(plan.script, name) for name in names
        )
    if not depends:
        return None
    return Ending(
        engine_repair(), deploy_sh.place(stop.line), open_because=reason_engines_are_unknown(names)
    )


def _own_words(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    if not plan.run.exit_status:
        return None
    words = error_line(plan.run)
    weights = _WEIGHTS_MISSING.search(words) is not None and plan.model_path not in words
    rest = msg(': the weights are in "$MODEL_PATH" alone') if weights else ""
    shown = f"{contract.MODEL_PATH_VARIABLE}=DIR {plan.run.shell} -x {contract.ENTRY_POINT}"
    said = msg("correct the step that says “{words}”{rest}", words=words, rest=rest)
    step = said if words else msg("find the command that fails ({shown} shows them)", shown=shown)
    where = deploy_sh.place(trace.stop(plan).line)
    return Ending(
        fix=msg("{step}, so that the script reaches: {launch}", step=step, launch=contract.LAUNCH),
        where=where,
    )


def _nothing_to_install(plan: LaunchPlan, _: tuple[Complaint, ...]) -> Ending | None:
    """A pip command without a requirement, mostly because a variable is empty."""
    words = last_lines(plan.run)
    if not plan.run.exit_status or not any(map(_NO_REQUIREMENT.match, words)):
        return None
    number = trace.stop(plan).line
    line = deploy_sh.line_at(plan.script, number)
    variable = _ONLY_VARIABLE.search(line)
    fix: str = msg("name a package in that command, or remove it")
    if variable:
        guarded = f'[ -z "${{{variable["name"]}:-}}" ] || {line}'
        fix = msg("write in line {number}: {guarded}", number=number, guarded=guarded)
    return Ending(fix, deploy_sh.place(number))


_CAUSES: tuple[Callable[[LaunchPlan, tuple[Complaint, ...]], Ending | None], ...] = (
    _sandbox,
    _guessed,
    _line_ends,
    _limit,
    _vllm_command,
    _refusal,
    _refused,
    _read_only,
    _absent_import,
    _no_wheel,
    _missing,
    _traceback,
    _image_file,
    _nothing_to_install,
    _overwritten,
    _model_path,
    _other_devices,
    _other_engine,
    _own_words,
)
