"""Checks of what is installed: CANN, Python, and versions that belong together."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import stacks
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.records import Finding, Stage
from healthcheck.runner.facts import versions
from healthcheck.runner.records import Cann, RunnerFacts
from healthcheck.runner.wording import IMAGE, fault, needs_npu

_NAMES = {"vllm_ascend": "vllm-ascend", "torch_npu": "torch-npu", "triton_ascend": "triton-ascend", "cann": "CANN"}


@check(
    "runner/cann",
    "CANN and ATB are installed, and their environment can be had",
    stage=Stage.RUNNER,
    why="torch_npu loads its operators from CANN, vllm-ascend others from ATB.",
)
def cann(facts: RunnerFacts) -> Findings:
    """The toolkit is looked for where the environment says (ASCEND_HOME_PATH), in /usr/local/Ascend/ascend-toolkit
    (before CANN 8.5) and in /usr/local/Ascend/cann (from 8.5 on); ATB in /usr/local/Ascend/nnal/atb.

    That the environment is not set in this shell is a warning: the service's shell is not known, and deploy.sh has
    to source the scripts itself then, as the template's does. The official images set it in ~/.bashrc, which a
    script does not read.

    To repair: source /usr/local/Ascend/ascend-toolkit/set_env.sh, then /usr/local/Ascend/nnal/atb/set_env.sh, both
    in bash and without `set -u`. Where nothing is installed, use the official image.
    """
    needs_npu(facts)
    seen = facts.cann
    if seen.home and not seen.home_exists:
        yield fault(
            facts,
            expected="the folder that ASCEND_HOME_PATH names",
            seen=f"{seen.home} is not there",
            fix="source the set_env.sh of the CANN that is installed",
        )
    if not seen.toolkits:
        yield fault(
            facts,
            expected="a CANN toolkit",
            seen="none in /usr/local/Ascend, and none in the environment",
            fix=f"{IMAGE}, or install CANN {facts.row.cann}",
        )
        return
    if not seen.home:
        where = seen.scripts[0] if seen.scripts else "its set_env.sh"
        yield warn(
            expected="CANN's environment in this shell",
            seen="ASCEND_HOME_PATH is not set",
            fix=f"source {where}; in deploy.sh too (the template's does)",
        )
    yield from _atb(seen)
    others = [toolkit.version for toolkit in seen.toolkits[1:]]
    beside = f"; also installed: {', '.join(others)}" if others else ""
    atb = f", ATB {seen.atb.version}" if seen.atb else ""
    yield note(f"CANN {seen.toolkits[0].version}{atb}{beside}", where=seen.toolkits[0].path)


def _atb(seen: Cann) -> Findings:
    if seen.atb is None:
        yield warn(
            expected="NNAL's ATB",
            seen="no /usr/local/Ascend/nnal/atb",
            fix=f"install the NNAL package of CANN {seen.toolkits[0].version}",
        )
    elif not seen.atb_sourced and seen.home:
        yield warn(
            expected="ATB's environment in this shell",
            seen="CANN's is set, ATB's is not",
            fix="source /usr/local/Ascend/nnal/atb/set_env.sh; in deploy.sh too",
        )


@check(
    "runner/python",
    "The Python that serves is one that the stack supports",
    stage=Stage.RUNNER,
    why="Wheels of torch_npu and vllm-ascend exist for few Python versions.",
)
def python(facts: RunnerFacts) -> Findings:
    """The Python of the `vllm` on PATH, else the python3 on PATH, is asked for its version; the row of the version
    matrix says which ones go. Where the row was chosen with --stack, another version is a failure, else a warning.

    To repair: use the official image, or a Python of that range, and put it first on PATH.
    """
    seen = facts.software
    if not seen.python:
        yield fail(expected="a Python that runs", seen=seen.trouble, fix="install python3, and put it on PATH")
    elif not stacks.in_range(seen.python, facts.row.python):
        say = fail if facts.wanted.stack else warn
        yield say(
            expected=f"Python {facts.row.python} ({facts.row.label()})",
            seen=seen.python,
            fix="put such a Python first on PATH, or use the official image",
            where=seen.executable,
        )
    else:
        yield note(f"Python {seen.python}", where=seen.executable)


@check(
    "runner/stack",
    "The versions belong together",
    stage=Stage.RUNNER,
    why="vLLM, vllm-ascend, torch, torch_npu and CANN are released for each other; mixed ones break at import, or "
    "later.",
)
def stack(facts: RunnerFacts) -> Findings:
    """Versions are compared with one row of vllm-ascend's version matrix: the one of --stack, else the nearest.
    Post releases and local parts do not count (torch-npu 2.9.0.post1+git…; vLLM 0.23.0+empty is the normal build
    beside vllm-ascend).

    A difference from the row that was asked for is a failure. From the nearest row it is a warning, but for a
    torch_npu that was built for another torch: that fails unless the devices computed right. That vllm or
    vllm-ascend is missing warns: an adapter may bring its own engine, but most have `vllm serve` in deploy.sh.

    To repair: use the official image of one release, or install the versions of one row.
    """
    if not facts.wanted.stack:
        needs_npu(facts)
    known = {name: text for name, text in versions(facts.software, facts.cann).items() if text and name != "python"}
    if not known.keys() - {"torch"}:
        raise NotApplicable("none of vllm, vllm-ascend, torch-npu and CANN is installed")
    row = facts.row
    missing = [_NAMES.get(name, name) for name in ("vllm", "vllm_ascend") if name not in known]
    if missing and facts.present:
        yield warn(
            expected="vllm and vllm-ascend, which `vllm serve` takes on an NPU",
            seen=f"{' and '.join(missing)} not installed",
            where=facts.software.executable,
            fix=f"{IMAGE}, or install them ({row.label()} with vllm {row.vllm[0]})",
        )
    torch, npu = known.get("torch", ""), known.get("torch_npu", "")
    if torch and npu and not stacks.same_release(torch, npu):
        yield fault(
            facts,
            expected=f"a torch-npu for torch {torch}",
            seen=f"torch-npu {npu}",
            fix=f"install torch {row.torch} and torch-npu {row.torch_npu} ({row.label()})",
        )
    say = fail if facts.wanted.stack else warn
    for name, version in known.items():
        stated = ", ".join(row.vllm) if name == "vllm" else str(getattr(row, name))
        if stated and not any(stacks.same_release(version, one) for one in stated.split(", ")):
            label = _NAMES.get(name, name)
            yield say(
                expected=f"{label} {stated}, as {row.label()} has it",
                seen=f"{label} {version}",
                fix=f"install {label} {stated}, or {IMAGE}",
                evidence={"row": row.vllm_ascend},
            )
    yield from _transformers(facts)
    nearest = stacks.nearest({**known, "python": facts.software.python})
    asked = "asked for" if facts.wanted.stack else "nearest"
    other = f"; nearest: {nearest.row.label()}" if nearest.row != row else ""
    yield note(f"compared with {row.label()} ({asked}){other}; {stacks.source()}")


def _transformers(facts: RunnerFacts) -> Iterator[Finding]:
    version = facts.software.packages.get("transformers", "")
    for statement in stacks.statements(facts.row, "transformers") if version else ():
        if not stacks.in_range(version, statement.specifier):
            yield warn(
                expected=f"transformers {statement.specifier}, as {statement.by} asks",
                seen=f"transformers {version}",
                fix=f'pip install "transformers{statement.specifier}"',
            )


CHECKS = (cann, python, stack)
