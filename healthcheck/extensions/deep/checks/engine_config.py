"""plan/engine-config: vLLM and vllm-ascend build a configuration from the recorded arguments."""

from __future__ import annotations

import re

from healthcheck.ascend.stacks import Row
from healthcheck.core.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.core.records import Finding, JsonValue, Level
from healthcheck.extensions.deep.environment import MAKE, Environment
from healthcheck.extensions.deep.facts import LEAVE_DEEP_OUT, EngineConfig, Raised, Reset, Trouble
from healthcheck.stages.plan.records import ServerCommand
from healthcheck.stages.plan.vllm_cli.judgement import judge_flags
from healthcheck.system.processes import shortened
from healthcheck.text.messages import joined, msg

TEXT_CHARS = 600
MEANT = {"ValueError", "TypeError", "NotImplementedError", "AssertionError"}
"""Errors about the given arguments; an OSError or ImportError is about the environment."""
ALSO_MEANT = ("vllm_ascend/ascend_config.py", "vllm_ascend/platform.py", "vllm/reasoning/")
"""In these modules, a RuntimeError is also about the arguments."""
OF_THE_ENVIRONMENT = re.compile(
    r"not installed|pip install|failed to (?:import|be inspected)|no module named|(?:does not|doesn't|not) exist"
    r"|no such file|unable to find|offline|triton|flashinfer",
    re.IGNORECASE,
)
OF_THE_HUB = re.compile(r"Invalid repository ID or local directory specified: '(?![./])[\w.-]+(?:/[\w.-]+)?'")
"""A model named by its hub id: nothing is downloaded here."""
RECREATE = msg("recreate the environment: {make}", MAKE)
UNKNOWN_MODEL = "Transformers does not recognize"
UNSPEAKING = {"model", "host", "port", "seed"}
"""Options whose names occur in any message."""
_RULED = re.compile(r"^\s*[=\-_*]{5,}\s*$", re.MULTILINE)


@check(
    "plan/engine-config",
    "vLLM and vllm-ascend accept the arguments as a configuration",
    why="What the engine refuses while it builds its configuration ends the launch before a weight is loaded.",
    requires=("plan/starts-server", "plan/model-path", "plan/flags"),
    by_row=True,
)
def engine_config(facts: EngineConfig) -> Findings:
    """Only with `verify --deep`. The real vLLM and vllm-ascend of the chosen row of the version matrix (the newest
    final release, if none is chosen) build the engine's configuration for the recorded arguments and the real
    config.json, in a process of their own, with stubs for torch_npu: no NPU is needed, and nothing is computed.

    What they refuse fails, in their own words: a tensor parallel size that does not divide the attention heads, an
    option that needs another, --quantization ascend for weights without quant_model_description.json. An option of
    the submission that they set to another value warns. A failure of the environment or of the stubs says nothing
    about the submission and leaves the check unsettled. No Python code of a model or of the submission runs:
    --trust-remote-code is not passed on, and the question is left out where such code may be wanted (an "auto_map"
    in config.json, or --hf-config-path, --tokenizer or --speculative-config beside that option).

    `make engine-config` in a clone of the kit makes the environment, .venv-engine-config. Another Python that has
    both packages, such as that of an NPU image, is named with --engine-python or NPU_ADAPTER_ENGINE_PYTHON. --npu
    KIND and --npus N say which NPUs are pretended (eight of the kind 910B3, if nothing is said).

    To repair: change the option that the message names; it says what would be accepted.
    """
    if facts.obstacle or facts.server is None:
        raise NotApplicable(facts.obstacle or msg("no server is started"))
    server = facts.server
    expected = msg("a configuration by vllm {vllm} and {label}", facts.row.vllm[0], facts.row.label())
    if facts.trouble or facts.answer is None or facts.environment is None:
        trouble = facts.trouble or Trouble(msg("no answer"), msg("run {make}", MAKE))
        yield unsettled(expected=expected, seen=trouble.seen, fix=trouble.fix, where=server.command)
    elif facts.answer.error:
        yield _judged(facts, server, facts.environment, facts.answer.error, expected)
    else:
        yield from (_reset(reset, server) for reset in facts.answer.resets)
        built = joined(", ", (msg("{name} {value}", name, value) for name, value in facts.answer.built.items()))
        npu, within = facts.npu.label, facts.environment.label()
        yield note(msg("built for {devices} × {label} with {label2}: {built}", facts.devices, npu, within, built))


def _judged(
    facts: EngineConfig, server: ServerCommand, environment: Environment, error: Raised, expected: str
) -> Finding:
    text = _words(error)
    npu = f"{facts.devices} × {facts.npu.label}"
    evidence: dict[str, JsonValue] = {"kind": error.kind, "raised_in": error.raised_in, "npu": npu}
    evidence["versions"] = dict(environment.versions)
    excuse = _excuse(error, environment, facts)
    if excuse:
        seen = msg("{seen}: {kind}: {text}", excuse.seen, error.kind, text)
        return unsettled(expected=expected, seen=seen, fix=excuse.fix, where=server.command, evidence=evidence)
    concerned = _concerned(text, server)
    vllm, row = environment.versions["vllm"], facts.row.label()
    seen = msg("vllm {versions} with {label} refuses it: “{text}”", vllm, row, text)
    change = msg("change or remove {concerned}", concerned or msg("what it names"))
    any_of_them = msg("change the arguments of vllm serve, or the weights")
    if error.kind == "Refused" and _other_release_takes_it(facts, server):
        seen += msg("; another release takes it (plan/flags), and which one the service has is not documented")
        return warn(expected=expected, seen=seen, fix=change, where=server.place, evidence=evidence)
    seen = msg("{seen}; the arguments: {quoted}", seen, server.command)
    fix = msg("{change}, as the message says", change if concerned else any_of_them)
    return fail(expected=expected, seen=seen, fix=fix, where=server.place, evidence=evidence)


def _excuse(error: Raised, environment: Environment, facts: EngineConfig) -> Trouble | None:
    """Why the error does not count against the submission, with a repair; None if it counts."""
    meant = bool(MEANT & set(error.kinds)) or error.kind == "Refused"
    meant |= "RuntimeError" in error.kinds and error.raised_in.startswith(ALSO_MEANT)
    if facts.answer and facts.answer.stage in {"begin", "import"}:
        return Trouble(msg("vLLM or vllm-ascend cannot be imported there"), RECREATE)
    if error.from_stub:
        return Trouble(msg("a stub of torch_npu was asked for a value that only an NPU has"))
    if not error.deliberate:
        place = error.raised_in or msg("the engine")
        return Trouble(msg("unexpected error in {place}, not a rejected argument", place))
    if "trust_remote_code" in error.text and facts.server and facts.server.option("trust-remote-code") is not None:
        return Trouble(msg("the dry run does not execute code of a model"))
    if not meant:
        place = error.raised_in
        return Trouble(msg("the error in {raised_in} is about the environment, not about the arguments", place))
    return _excuse_of_what_is_there(error, environment, facts.row)


def _excuse_of_what_is_there(error: Raised, environment: Environment, row: Row) -> Trouble | None:
    """Errors that the environment causes (transformers version, missing package), not the arguments."""
    if UNKNOWN_MODEL in error.text or error.raised_in.startswith("transformers/"):
        version = environment.versions.get("transformers", "")
        other = Trouble(msg("transformers {version} is not the row's", version), RECREATE)
        return None if environment.has_transformers_of(row) else other
    if OF_THE_HUB.search(error.text):
        return Trouble(msg("a model that is not in the weights and is not downloaded here"))
    if OF_THE_ENVIRONMENT.search(error.text):
        fix = msg("install it for {path}, or {leave_deep_out}", environment.python.path, LEAVE_DEEP_OUT)
        return Trouble(msg("something is missing in the environment"), fix)
    return None


def _other_release_takes_it(facts: EngineConfig, server: ServerCommand) -> bool:
    found = judge_flags(server, facts.stack)
    return any(finding.level is Level.WARN and finding.evidence.get("taken_by") for finding in found)


def _words(error: Raised) -> str:
    """The message on one line, without ornaments."""
    return shortened(_RULED.sub(" ", error.text), TEXT_CHARS) or msg("no words, in {raised_in}", error.raised_in)


def _concerned(text: str, server: ServerCommand) -> str:
    """The option that a message concerns: the longest given name in its text."""
    said = text.lower()
    for name in sorted(server.options.keys() - UNSPEAKING, key=len, reverse=True):
        forms = (f"--{name}", name.replace("-", "_"), name.replace("-", " "))
        if any(re.search(rf"(?<![\w-]){re.escape(form)}(?![\w-])", said) for form in forms):
            return f"--{name} {server.options[name]}".strip()
    return ""


def _reset(reset: Reset, server: ServerCommand) -> Finding:
    now = msg("the configuration has {now}", reset.now) if reset.now else msg("the engine resets it")
    said = msg(": “{text}”", shortened(reset.said, TEXT_CHARS)) if reset.said else msg(", without a message")
    expected = msg("{option}, as it was given", reset.option)
    fix = msg("remove {option}, which has no effect, or pass the value that the engine uses", reset.option)
    return warn(expected=expected, seen=now + said, fix=fix, where=server.place)
