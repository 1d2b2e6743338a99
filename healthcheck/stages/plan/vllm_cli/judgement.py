"""Judges the arguments of a recorded `vllm serve` against the catalogues of several releases."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from healthcheck.ascend.stacks import DEFAULT, row, rows, spans
from healthcheck.core.check import Findings, fail, note, unsettled, warn
from healthcheck.core.edits import in_words, line_of_first_word
from healthcheck.core.records import Edit, Finding, JsonValue
from healthcheck.stages.plan.records import Format, ServerCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.script.arguments import Arguments
from healthcheck.stages.plan.script.split_texts import SplitText, split_texts
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.vllm_cli import parsers
from healthcheck.stages.plan.vllm_cli.catalogue import Catalogue, around, catalogue, versions
from healthcheck.stages.plan.vllm_cli.corrections import Correction, edits
from healthcheck.stages.plan.vllm_cli.corrections import Kind as Change
from healthcheck.stages.plan.vllm_cli.grammar import Parsed, Problem, parse, repeated
from healthcheck.stages.plan.vllm_cli.objects import intended
from healthcheck.stages.plan.vllm_cli.values import MAX_CHARACTERS, is_too_long, judge
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import joined, msg

CONFIG, MODEL = "--config", "--model"
_API_SERVER = "vllm.entrypoints.openai"
"""The older way to start the server, which takes the model from --model."""
MAX_FINDINGS = 12
ANY_MODEL = Format()
_BECAME_KEYS = {
    "--guided-decoding-backend": ("--structured-outputs-config", "backend"),
    "--speculative-model": ("--speculative-config", "model"),
    "--num-speculative-tokens": ("--speculative-config", "num_speculative_tokens"),
}
"""Options whose values are keys of an option with an object."""
_REMOVED = (
    "--engine-use-ray", "--preemption-mode", "--disable-async-output-proc", "--num-lookahead-slots",
    "--lora-extra-vocab-size", "--num-scheduler-steps", "--multi-step-stream-outputs", "--use-v2-block-manager",
    "--enable-prompt-adapter",
)  # fmt: skip
_NESTED = {
    name: msg("write {option} '{{\"{key}\": …}}'", option=option, key=key)
    for name, (option, key) in _BECAME_KEYS.items()
}
_ROPE = msg(
    """write --hf-overrides '{"rope_parameters": {…}}', with "rope_theta" as in config.json among the others"""
)
"""All of them: transformers 5 keeps none of the model's own."""
_NOT_NEEDED = {
    "--swap-space": msg("vLLM no longer has swap space"),
    "--disable-log-requests": msg("requests are not logged by default"),
    "--device": msg("the platform is found by itself"),
    "--enable-reasoning": msg("--reasoning-parser alone is enough"),
}
"""Options to remove, with the reason."""
GONE = (
    dict.fromkeys(_REMOVED, msg("remove it"))
    | _NESTED
    | dict.fromkeys(("--rope-scaling", "--rope-theta"), _ROPE)
    | {name: msg("remove it: {reason}", reason=reason) for name, reason in _NOT_NEEDED.items()}
    | {
        "--task": msg("remove it for a chat model; --runner and --convert replace it"),
        "--worker-use-ray": msg("write --distributed-executor-backend ray"),
        "--max-seq-len-to-capture": msg("write --max-cudagraph-capture-size, or remove it"),
        "--max-context-len-to-capture": msg("write --max-cudagraph-capture-size, or remove it"),
        "--cuda-graph-sizes": msg("write --cudagraph-capture-sizes"),
        "--disable-mm-preprocessor-cache": msg("write --mm-processor-cache-gb 0"),
        "--override-pooler-config": msg("write --pooler-config"),
        "--full-cuda-graph": msg(
            """write --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}'"""
        ),
    }
)
"""Options of vLLM releases older than the catalogues, and their replacements."""
_RENAMED = {
    "--max-seq-len-to-capture": "--max-cudagraph-capture-size",
    "--max-context-len-to-capture": "--max-cudagraph-capture-size",
    "--cuda-graph-sizes": "--cudagraph-capture-sizes",
    "--override-pooler-config": "--pooler-config",
}
_REPLACED = {
    "--worker-use-ray": "--distributed-executor-backend ray",
    "--disable-mm-preprocessor-cache": "--mm-processor-cache-gb 0",
}
_NOT_REMOVED = {"--full-cuda-graph"}
_GONE_WITH_VALUE = {
    "--preemption-mode", "--num-lookahead-slots", "--lora-extra-vocab-size", "--num-scheduler-steps",
    "--swap-space", "--task", "--device",
}  # fmt: skip
"""Those options of GONE that are to be removed and had a value."""


def judge_flags(
    server: ServerCommand,
    stack: str,
    *,
    script: str = "",
    form: Format = ANY_MODEL,
    without: frozenset[str] = frozenset(),
) -> Findings:
    """Judge a vLLM command line against one row of the version matrix.

    Args:
        server: the command.
        script: the text of deploy.sh, for exact repairs.
        stack: the chosen row; only its vLLM counts, or those around it if it has no catalogue. "" is the default
            row, and an argument that the vLLM of another row accepts is only a warning.
        form: the format of the model's answers, which decides the repair of an unknown parser.
        without: options that another check reports.
    """
    vllm = row(stack or DEFAULT).vllm[0]
    beside = around(vllm)
    chosen = catalogue(beside[0])
    argv = whole_argv(server, chosen)  # the first len(server.argv) are from the command line
    parsed, problems = _read(argv, chosen)
    twice = tuple(_second_model(server, parsed))
    problems = sorted([*problems, *twice], key=lambda problem: problem.at)
    problems = [problem for problem in problems if problem.flag not in without]
    of_texts: set[int] = set()
    for split in split_texts(script, server.argv):
        places = set(range(split.start, split.end))
        if any(problem.at in places for problem in problems):
            yield _split_text(split)
            of_texts |= places
    problems = [problem for problem in problems if problem.at not in of_texts]
    others = [catalogue(version) for version in versions() if version != chosen.vllm]
    elsewhere = {
        other.vllm: {problem.at for problem in (*_read(argv, other)[1], *twice)} for other in others
    }
    possible = set(beside) if stack else {version for each in rows() for version in each.vllm}
    unknown = msg("which release the service has is not documented")
    doubt = msg("vLLM {vllm} is not catalogued", vllm=vllm) if stack else unknown
    launch = _Launch(server=server, arguments=Arguments.of(script, server), chosen=chosen)
    for problem in problems[:MAX_FINDINGS]:
        takers = [
            each
            for each, refused in elsewhere.items()
            if each in possible and problem.at not in refused
        ]
        if (
            vllm not in beside
            and beside == versions()[:1]
            and problem.unknown
            and _base(problem) in GONE
        ):
            takers.append(msg("{vllm} perhaps", vllm=vllm))
        yield _finding(_for_model(problem, form, chosen), launch, takers, doubt)
    yield from _unread(parsed, server)
    yield from _repetitions(parsed, server)
    refused = set().union(*elsewhere.values()) - of_texts
    newer = sorted(refused - {problem.at for problem in problems})
    for at in newer[:MAX_FINDINGS]:
        refusing = spans(
            [version for version, refused in elsewhere.items() if at in refused], versions()
        )
        seen = msg(
            "{argv} is an argument that vLLM {refusing} refuses", argv=argv[at], refusing=refusing
        )
        yield note(seen, where=server.where)
    if vllm not in beside:
        seen = msg(
            "vLLM {vllm} is not catalogued: judged by the options of {by}",
            vllm=vllm,
            by=joined(" and ", beside),
        )
        expected, fix = (
            msg("options of vLLM {vllm}", vllm=vllm),
            msg("compare them with `vllm serve --help=all` there"),
        )
        alone = warn(expected=expected, seen=seen, fix=fix, where=server.where)
        yield alone if len(beside) == 1 else note(seen, where=server.where)


def _split_text(split: SplitText) -> Finding:
    """The finding on a text of several arguments, of which the shell keeps the quotes."""
    seen = msg(
        "line {used_at} uses ${variable} without quotes: the shell splits its text at each blank and keeps the "
        "quotes in it, so vLLM gets {got}",
        used_at=split.used_at,
        variable=split.name,
        got=split.got[:120],
    )
    order = msg(
        'write {array} in line {line}, and "${{{variable}[@]}}" where deploy.sh uses ${variable}',
        array=split.array,
        line=split.line,
        variable=split.name,
    )
    return fail(
        expected=msg("whole values: quotes inside the text of a variable do not group words"),
        seen=seen,
        fix="" if split.edits else order,
        where=deploy_sh.place(split.line),
        edits=split.edits,
    )


def problems_of(server: ServerCommand, stack: str) -> tuple[Problem, ...]:
    """What the vLLM of one row of the version matrix refuses of a command line."""
    chosen = catalogue(around(row(stack or DEFAULT).vllm[0])[0])
    return tuple(_read(whole_argv(server, chosen), chosen)[1])


def _for_model(problem: Problem, form: Format, chosen: Catalogue) -> Problem:
    """The problem, with the model's own parser as the repair of an unknown one."""
    if not problem.parser:
        return problem
    flag = _base(problem)
    option, known = flag.lstrip("-"), chosen.known.get(flag, ())
    meant = parsers.fitting_parser(option, problem.parser, form, known)
    correction = Correction(kind=Change.VALUE, old=problem.parser, new=meant) if meant else None
    fix = parsers.repair(option, problem.parser, form, known)
    return replace(problem, fix=fix, correction=correction)


def _read(argv: tuple[str, ...], release: Catalogue) -> tuple[Parsed, list[Problem]]:
    parsed = parse(argv, release)
    found = [
        problem
        for problem in (*parsed.problems, *judge(parsed, release, argv))
        if not _is_open(problem, argv)
    ]
    parts = {
        problem.at + number
        for problem in found
        for number in range(1, problem.split + 2)
        if problem.split
    }
    problems = (problem for problem in found if problem.at not in parts)
    return parsed, sorted(problems, key=lambda problem: problem.at)


def _is_open(problem: Problem, argv: tuple[str, ...]) -> bool:
    """Whether the problem is about a value that the dry run could not determine."""
    words = argv[problem.at : problem.at + 2]
    return not problem.unknown and any(UNRESOLVED in word for word in words)


def _second_model(server: ServerCommand, parsed: Parsed) -> Iterator[Problem]:
    """A positional model besides --model, whose value `vllm serve` makes the positional argument."""
    option = next((argument for argument in parsed.arguments if argument.written == MODEL), None)
    if option and parsed.model is not None and _API_SERVER not in server.command:
        seen = msg(
            "{first} and {option} {values}: vLLM serves the second one, and ends with “unrecognized "
            "arguments” for the first",
            first=parsed.model[:80],
            option=MODEL,
            values=" ".join(option.values)[:80],
        )
        fix = msg("remove {model} and its value", model=MODEL)
        correction = Correction(
            kind=Change.REMOVE, values=0 if "=" in server.argv[option.at] else 1
        )
        yield Problem(
            at=option.at,
            flag=MODEL,
            expected=msg("the model once"),
            seen=seen,
            fix=fix,
            correction=correction,
        )


def whole_argv(server: ServerCommand, chosen: Catalogue) -> tuple[str, ...]:
    """The arguments, followed by those of a --config file that the command line does not override."""
    given = parse(server.argv, chosen)
    words = list(server.argv)
    if any(argument.option.name == CONFIG for argument in given.arguments):
        flags = {
            flag
            for argument in given.arguments
            for flag in (*argument.option.flags, argument.written)
        }
        flags |= {
            word.partition("=")[0].replace("_", "-") for word in server.argv if word.startswith("-")
        }
        named = {flag.lstrip("-") for flag in flags} | {"model"}
        for name, value in server.options.items():
            if name not in named:
                words += [f"--{name}", value] if value else [f"--{name}"]
    return tuple(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launch:
    """The command that is judged: the recorded server, its words in deploy.sh, and the release that judges it."""

    server: ServerCommand
    arguments: Arguments
    chosen: Catalogue


def _finding(problem: Problem, launch: _Launch, takers: list[str], doubt: str) -> Finding:
    server, arguments = launch.server, launch.arguments
    gone = _replacement(problem, server) if problem.unknown else ""
    seen = problem.seen + (
        msg(" (from the --config file)") if problem.at >= len(server.argv) else ""
    )
    evidence: dict[str, JsonValue] = {
        "flag": problem.flag,
        "vllm": launch.chosen.vllm,
        "taken_by": list(takers),
    }
    if takers:
        seen += msg("; vLLM {named} takes it, and {doubt}", named=_named(takers), doubt=doubt)
    if problem.accepted:
        seen = msg("{argument}: vLLM accepts it, and ignores that part", argument=seen)
    say, fix = warn if takers or problem.accepted else fail, problem.fix
    if gone:
        fix = msg("{flag}: {gone}", flag=problem.flag, gone=gone)
    edits = () if takers else _edits(problem, arguments, server)
    where = server.place
    if edits:
        where, fix = (
            f"{edits[0].file}:{line_of_first_word(edits[0])}",
            _with_reason(edits, problem),
        )
    return say(
        expected=problem.expected, seen=seen, fix=fix, where=where, evidence=evidence, edits=edits
    )


def _edits(problem: Problem, arguments: Arguments, server: ServerCommand) -> tuple[Edit, ...]:
    """The exact repair of a problem, if its argument is written in deploy.sh."""
    base = _base(problem)
    if not problem.unknown or "." in problem.flag:
        return edits(problem.correction, problem.at, arguments)
    values = arguments.values_after(problem.at) if problem.at < len(arguments.argv) else 0
    if base in _BECAME_KEYS:
        return _as_keys(base, arguments, server)
    if base in _RENAMED:
        correction = Correction(kind=Change.NAME, new=_RENAMED[base])
    elif base in _REPLACED:
        correction = Correction(kind=Change.WORDS, new=_REPLACED[base], values=0)
    elif base in GONE and GONE[base] is not _ROPE and base not in _NOT_REMOVED:
        correction = Correction(
            kind=Change.REMOVE, values=min(values, 1) if base in _GONE_WITH_VALUE else 0
        )
    elif base in GONE or problem.correction:
        return edits(problem.correction, problem.at, arguments) if base not in GONE else ()
    else:
        follows = arguments.argv[problem.at + 1 : problem.at + 2] if values else ()
        if values > 1 or not arguments.argv or (server.model and follows == (server.model,)):
            return ()
        correction = Correction(kind=Change.REMOVE, values=values)
    return edits(correction, problem.at, arguments)


def _as_keys(base: str, arguments: Arguments, server: ServerCommand) -> tuple[Edit, ...]:
    """Move the value of an option that became a key, and those of its neighbours, into the object."""
    target = _BECAME_KEYS[base][0]
    names = [name for name, (option, _) in _BECAME_KEYS.items() if option == target]
    places = {name: at for name in names if (at := arguments.option(name)) is not None}
    given = {_BECAME_KEYS[name][1]: _value_of(name, server.argv) for name in places}
    whole = target != "--speculative-config" or len(given) > 1
    if not places or not whole or None in given.values() or arguments.option(target) is not None:
        return ()
    first = min(places, key=lambda name: places[name])
    words = f"{target} {shlex.quote(json.dumps(given, ensure_ascii=False))}"
    made: tuple[Edit, ...] = ()
    for name, at in places.items():
        values = 0 if "=" in arguments.argv[at] else 1
        kind = Change.WORDS if name == first else Change.REMOVE
        part = edits(Correction(kind=kind, new=words, values=values), at, arguments)
        if not part:
            return ()
        made += part
    return made


def _with_reason(made: tuple[Edit, ...], problem: Problem) -> str:
    """The edits in words, with the reason for which an option is not needed."""
    words, reason = in_words(made), _NOT_NEEDED.get(_base(problem))
    return msg("{edit} ({reason})", edit=words, reason=reason) if reason else words


def _replacement(problem: Problem, server: ServerCommand) -> str:
    """What to write in place of an option that is gone, with all given values that belong there."""
    base = _base(problem)
    if GONE.get(base) is _ROPE and problem.at < len(server.argv):
        return _rope(server.argv)
    target = _BECAME_KEYS.get(base, ("", ""))[0]
    given = {key: value for name, (option, key) in _BECAME_KEYS.items() if option == target
             and (value := _value_of(name, server.argv)) is not None}  # fmt: skip
    whole = target != "--speculative-config" or len(given) > 1
    if not given or not whole or problem.at >= len(server.argv) or "." in problem.flag:
        return GONE.get(base, "")
    return msg(
        "write {option} {value}",
        option=target,
        value=shlex.quote(json.dumps(given, ensure_ascii=False)),
    )


def _rope(argv: Sequence[str]) -> str:
    """The author's own values as the object that replaces --rope-scaling and --rope-theta."""
    scaling, theta = _value_of("--rope-scaling", argv), _value_of("--rope-theta", argv)
    given = (
        scaling
        if isinstance(scaling, dict)
        else intended(scaling)
        if isinstance(scaling, str)
        else None
    )
    if isinstance(theta, (int, float)):
        given = {"rope_theta": theta, **(given or {})}
    if not given:
        return _ROPE
    words = shlex.quote(json.dumps({"rope_parameters": given}, ensure_ascii=False))
    if "rope_theta" in given:
        return msg(
            "write --hf-overrides {value}, with the other keys of rope_parameters in config.json",
            value=words,
        )
    return msg(
        """write --hf-overrides {value}, with "rope_theta" as in config.json among its keys""",
        value=words,
    )


def _value_of(name: str, argv: Sequence[str]) -> JsonValue:
    """The value of an option on the command line; None without one."""
    for at, word in enumerate(argv):
        flag, equals, value = word.partition("=")
        if flag.replace("_", "-") != name:
            continue
        value = value if equals else "".join(argv[at + 1 : at + 2])
        if not equals and value.startswith("-"):
            return None
        try:
            return json_text.load(value) if value else None
        except JsonError:
            return value
    return None


def _named(takers: list[str]) -> str:
    catalogued = spans(takers, versions())
    return joined(
        ", ", filter(None, (catalogued, *(each for each in takers if each not in versions())))
    )


def _base(problem: Problem) -> str:
    return problem.flag.partition(".")[0].replace("_", "-")


def _unread(parsed: Parsed, server: ServerCommand) -> Iterator[Finding]:
    for argument in filter(is_too_long, parsed.arguments):
        length = max(map(len, argument.values))
        expected = msg(
            "{flag} of at most {max_characters} characters",
            flag=argument.flag,
            max_characters=MAX_CHARACTERS,
        )
        seen = msg(
            "{flag} with a value of {length} characters, which is not judged",
            flag=argument.flag,
            length=length,
        )
        fix = msg("keep the keys that differ from vLLM's defaults")
        yield unsettled(expected=expected, seen=seen, fix=fix, where=server.place)


def _repetitions(parsed: Parsed, server: ServerCommand) -> Iterator[Finding]:
    for before, after in repeated(parsed.arguments):
        seen = msg(
            "{first}, and then {last}: vLLM takes the last one", first=before.text, last=after.text
        )
        fix = msg("keep one {name}", name=after.option.name)
        yield warn(
            expected=msg("{name} once", name=after.option.name),
            seen=seen,
            fix=fix,
            where=server.place,
        )
