"""runner/stack: the installed versions are compatible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from healthcheck.ascend import stacks
from healthcheck.core.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.facts import versions
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.extensions.runner.wording import IMAGE, needs_npu
from healthcheck.text.messages import joined, msg

_NAMES = {
    "vllm_ascend": "vllm-ascend",
    "torch_npu": "torch-npu",
    "triton_ascend": "triton-ascend",
    "cann": "CANN",
}


@check(
    "runner/stack",
    msg("The installed versions are compatible"),
    stage=RUNNER,
    why=msg(
        "vLLM, vllm-ascend, torch, torch_npu and CANN are released as a set; other combinations break at import or "
        "later."
    ),
    by_row=True,
)
def stack(facts: RunnerFacts) -> Findings:
    """Versions are compared with one row of vllm-ascend's version matrix: the one of --stack, else the nearest.
    Post releases and local parts do not count (torch-npu 2.9.0.post1+git…; vLLM 0.23.0+empty is the normal build
    beside vllm-ascend).

    A difference from the row of --stack fails; from the nearest row it warns. A torch_npu built for another torch
    fails, unless the devices computed correctly. A missing vllm or vllm-ascend warns: an adapter may install its
    own engine, but most run `vllm serve` in deploy.sh.

    To repair: use the official image of one release, or install the versions of one row.

    Example:
    ```console
    $ pip list | grep vllm
    vllm         0.17.0
    vllm-ascend  0.18.0
    ```

    Use instead:

    ```console
    $ pip list | grep vllm
    vllm         0.18.0
    vllm-ascend  0.18.0
    ```
    """
    if not facts.wanted.stack:
        needs_npu(facts)
    known = {
        name: text
        for name, text in versions(facts.software, facts.cann).items()
        if text and name != "python"
    }
    if not known.keys() - {"torch"}:
        raise NotApplicable(msg("none of vllm, vllm-ascend, torch-npu and CANN is installed"))
    row = facts.row
    yield from _missing(facts, known)
    yield from _another_torch(facts, known)
    yield from _differences(facts, known)
    yield from _transformers(facts)
    nearest = stacks.nearest({**known, "python": facts.software.python})
    asked = msg("asked for") if facts.wanted.stack else msg("nearest")
    other = msg("; nearest: {label}", label=nearest.label()) if nearest != row else ""
    yield note(
        msg(
            "compared with {label} ({asked}){other}; {source}",
            label=row.label(),
            asked=asked,
            other=other,
            source=stacks.source(),
        )
    )


def _missing(facts: RunnerFacts, known: Mapping[str, str]) -> Iterator[Finding]:
    missing = [_NAMES.get(name, name) for name in ("vllm", "vllm_ascend") if name not in known]
    if missing and facts.present:
        expected = msg("vllm and vllm-ascend, which `vllm serve` takes on an NPU")
        seen = msg("{missing} not installed", missing=joined(" and ", missing))
        fix = msg(
            "{image}, or install them ({label} with vllm {vllm})",
            image=IMAGE,
            label=facts.row.label(),
            vllm=facts.row.vllm[0],
        )
        yield warn(expected=expected, seen=seen, fix=fix, where=facts.software.executable)


def _another_torch(facts: RunnerFacts, known: Mapping[str, str]) -> Iterator[Finding]:
    row, torch, npu = facts.row, known.get("torch", ""), known.get("torch_npu", "")
    if torch and npu and not stacks.same_release(torch, npu):
        fix = msg(
            "install torch {torch} and torch-npu {torch_npu} ({label})",
            torch=row.torch,
            torch_npu=row.torch_npu,
            label=row.label(),
        )
        yield facts.fault(
            expected=msg("a torch-npu for torch {torch}", torch=torch),
            seen=f"torch-npu {npu}",
            fix=fix,
        )


def _differences(facts: RunnerFacts, known: Mapping[str, str]) -> Iterator[Finding]:
    row, say = facts.row, fail if facts.wanted.stack else warn
    for name, version in known.items():
        stated = ", ".join(row.vllm) if name == "vllm" else getattr(row, name) or ""
        if stated and not any(stacks.same_release(version, one) for one in stated.split(", ")):
            label = _NAMES.get(name, name)
            expected = msg(
                "{package} {stated}, as {release} has it",
                package=label,
                stated=stated,
                release=row.label(),
            )
            fix = msg(
                "install {label} {stated}, or {image}", label=label, stated=stated, image=IMAGE
            )
            yield say(
                expected=expected,
                seen=msg("{label} {version}", label=label, version=version),
                fix=fix,
            )


def _transformers(facts: RunnerFacts) -> Iterator[Finding]:
    version = facts.software.packages.get("transformers", "")
    for statement in stacks.statements(facts.row, "transformers") if version else ():
        if not stacks.in_range(version, statement.specifier):
            expected = msg(
                "transformers {specifier}, as {by} asks",
                specifier=statement.specifier,
                by=statement.by,
            )
            fix = msg('pip install "transformers{specifier}"', specifier=statement.specifier)
            yield warn(
                expected=expected, seen=msg("transformers {version}", version=version), fix=fix
            )
