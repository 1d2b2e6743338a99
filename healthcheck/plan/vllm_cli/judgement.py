"""Judges the arguments of a recorded `vllm serve` by the catalogues of several releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.check import Findings, fail, note, warn
from healthcheck.plan.records import ServerCommand
from healthcheck.plan.servers.options import UNRESOLVED
from healthcheck.plan.vllm_cli.catalogue import Catalogue, catalogue, is_older, nearest, versions
from healthcheck.plan.vllm_cli.grammar import Parsed, Problem, parse, repeated
from healthcheck.plan.vllm_cli.values import judge
from healthcheck.records import Finding, JsonValue

CONFIG, MODEL = "--config", "--model"
_API_SERVER = "vllm.entrypoints.openai"
"""The older way to start it, which takes --model as it stands."""
MAX_FINDINGS = 12
GONE = {
    "--swap-space": "remove it: vLLM has no swap space any more",
    "--disable-log-requests": "remove it: requests are not logged by default",
    "--rope-scaling": """write --hf-overrides '{"rope_scaling": …}'""",
    "--rope-theta": """write --hf-overrides '{"rope_theta": …}'""",
    "--task": "remove it for a chat model; --runner and --convert replace it",
    "--device": "remove it: the platform is found by itself",
    "--enable-reasoning": "remove it: --reasoning-parser alone is enough",
    "--worker-use-ray": "write --distributed-executor-backend ray",
    "--engine-use-ray": "remove it",
    "--guided-decoding-backend": """write --structured-outputs-config '{"backend": …}'""",
    "--speculative-model": """write --speculative-config '{"model": …, "num_speculative_tokens": …}'""",
    "--num-speculative-tokens": """write --speculative-config '{"num_speculative_tokens": …}'""",
    "--num-scheduler-steps": "remove it: there is no multi-step scheduling any more",
    "--multi-step-stream-outputs": "remove it: there is no multi-step scheduling any more",
    "--use-v2-block-manager": "remove it: there is no other one any more",
    "--preemption-mode": "remove it",
    "--max-seq-len-to-capture": "write --max-cudagraph-capture-size, or remove it",
    "--max-context-len-to-capture": "write --max-cudagraph-capture-size, or remove it",
    "--cuda-graph-sizes": "write --cudagraph-capture-sizes",
    "--disable-async-output-proc": "remove it",
    "--disable-mm-preprocessor-cache": "write --mm-processor-cache-gb 0",
    "--enable-prompt-adapter": "remove it: prompt adapters are gone",
    "--num-lookahead-slots": "remove it",
    "--lora-extra-vocab-size": "remove it",
    "--override-pooler-config": "write --pooler-config",
    "--full-cuda-graph": """write --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}'""",
}
"""Options of vLLM releases before those in the catalogues, and what to write today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argv:
    """What vLLM's parser gets: the command line, followed by what a configuration file adds."""

    words: tuple[str, ...]
    written: int

    def from_file(self, at: int) -> bool:
        return at >= self.written


def judge_flags(server: ServerCommand, vllm: str) -> Findings:
    """The findings for a vLLM command line, with one release chosen and the catalogued ones beside it."""
    chosen = nearest(vllm)
    argv = whole_argv(server, chosen)
    parsed, problems = _read(argv, chosen)
    twice = tuple(_second_model(server, parsed))
    problems = sorted([*problems, *twice], key=lambda problem: problem.at)
    others = [catalogue(version) for version in versions() if version != chosen.vllm]
    elsewhere = {other.vllm: {problem.at for problem in (*_read(argv, other)[1], *twice)} for other in others}
    for problem in problems[:MAX_FINDINGS]:
        takers = [version for version, refused in elsewhere.items() if problem.at not in refused]
        if is_older(vllm) and problem.unknown and _base(problem) in GONE:
            takers.append(f"{vllm}, which is not catalogued, perhaps")
        yield _finding(problem, server, argv, chosen, takers)
    yield from _repetitions(parsed, server)
    yield from _abbreviations(parsed, server, others)
    newer = sorted(set().union(*elsewhere.values()) - {problem.at for problem in problems})
    for at in newer[:MAX_FINDINGS]:
        refusing = ", ".join(version for version, refused in elsewhere.items() if at in refused)
        yield note(f"{argv.words[at]} is an argument that vLLM {refusing} refuses", where=server.where)


def _read(argv: Argv, release: Catalogue) -> tuple[Parsed, list[Problem]]:
    parsed = parse(argv.words, release)
    problems = [problem for problem in (*parsed.problems, *judge(parsed, release)) if not _is_open(problem, argv)]
    return parsed, sorted(problems, key=lambda problem: problem.at)


def _is_open(problem: Problem, argv: Argv) -> bool:
    """Whether the problem is with a value that the dry run did not find out."""
    words = argv.words[problem.at : problem.at + 2]
    return not problem.unknown and any(UNRESOLVED in word for word in words)


def _second_model(server: ServerCommand, parsed: Parsed) -> Iterator[Problem]:
    """`vllm serve` makes the value of --model its first word: a positional model is then one word too many."""
    option = next((argument for argument in parsed.arguments if argument.written == MODEL), None)
    if option and parsed.model is not None and _API_SERVER not in server.command:
        yield Problem(
            at=option.at,
            flag=MODEL,
            expected="the model once",
            seen=f"{parsed.model[:80]} and {MODEL} {' '.join(option.values)[:80]}: vLLM serves the second one, and "
            "ends with “unrecognized arguments” for the first",
            fix=f"take {MODEL} and its value out",
        )


def whole_argv(server: ServerCommand, chosen: Catalogue) -> Argv:
    """The arguments, with those of a --config file that the command line does not override after them."""
    given = parse(server.argv, chosen)
    words = list(server.argv)
    if any(argument.option.name == CONFIG for argument in given.arguments):
        named = {
            flag.lstrip("-") for argument in given.arguments for flag in (*argument.option.flags, argument.written)
        }
        named |= {
            word.partition("=")[0].lstrip("-").replace("_", "-") for word in server.argv if word.startswith("-")
        }
        for name, value in server.options.items():
            if name not in named and name != "model":
                words += [f"--{name}", value] if value else [f"--{name}"]
    return Argv(words=tuple(words), written=len(server.argv))


def _finding(problem: Problem, server: ServerCommand, argv: Argv, chosen: Catalogue, takers: list[str]) -> Finding:
    gone = GONE.get(_base(problem), "") if problem.unknown else ""
    source = " (from the --config file)" if argv.from_file(problem.at) else ""
    seen = f"{problem.seen}{source}"
    evidence: dict[str, JsonValue] = {"flag": problem.flag, "vllm": chosen.vllm, "taken_by": list(takers)}
    if takers:
        return warn(
            expected=problem.expected,
            seen=f"{seen}; vLLM {', '.join(takers)} takes it, and which release the service has is not documented",
            fix=gone or problem.fix,
            where=server.where or server.command,
            evidence=evidence,
        )
    return fail(
        expected=problem.expected,
        seen=f"{seen}; none of vLLM {', '.join(versions())} takes it",
        fix=gone or problem.fix,
        where=server.where or server.command,
        evidence=evidence,
    )


def _base(problem: Problem) -> str:
    return problem.flag.partition(".")[0].replace("_", "-")


def _repetitions(parsed: Parsed, server: ServerCommand) -> Iterator[Finding]:
    for before, after in repeated(parsed.arguments):
        yield warn(
            expected=f"{after.option.name} once",
            seen=f"{before.written} {' '.join(before.values)}".strip()
            + f", and then {after.written} {' '.join(after.values)}".rstrip()
            + ": vLLM takes the last one",
            fix=f"keep one {after.option.name}",
            where=server.where or server.command,
        )


def _abbreviations(parsed: Parsed, server: ServerCommand, others: list[Catalogue]) -> Iterator[Finding]:
    for argument in parsed.arguments:
        written = argument.written.partition(".")[0].replace("_", "-")
        if argument.flag == written or not written.startswith("--"):
            continue
        unsure = [
            other.vllm for other in others if other.find(written) is None and len(other.starting(written)) > 1
        ]
        if unsure:
            yield warn(
                expected=f"{argument.flag}, spelled out",
                seen=f"{argument.written}, which may be more than one option in vLLM {', '.join(unsure)}",
                fix=f"write {argument.flag}",
                where=server.where or server.command,
            )
