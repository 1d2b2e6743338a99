"""repo/requirements-provided and repo/requirements-stack: what is asked for, against what the image brings."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from healthcheck import contract, stacks
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.records import Finding, JsonValue, Stage
from healthcheck.repo import shell, shells
from healthcheck.repo.facts import Submission
from healthcheck.repo.installs import PINNING, constrained, entries, exact_versions
from healthcheck.repo.requirements import Entry, Form

CANN = {"te", "hccl", "hccl-parser", "opc-tool", "auto-tune", "schedule-search", "op-gen", "op-test-frame",
        "llm-datadist", "msobjdump", "show-kernel-debug-data", "topi", "asc-opc-tool"}  # fmt: skip
"""Python packages that the CANN toolkit installs."""
PYTHON = {"python", "python3", "cpython"}
IMAGE = {
    "torch": "it decides which torch-npu fits, and another one breaks the torch-npu of the image",
    "torchvision": "it is built for one torch, and replacing it can pull another torch in",
    "torchaudio": "it is built for one torch, and replacing it can pull another torch in",
    "torchair": "it comes with torch-npu",
    "vllm": "the index's build is for CUDA, and it replaces the one that vllm-ascend was installed with",
    "vllm-ascend": "it pins torch and torch-npu, and belongs with the image's CANN",
    "triton": "it overwrites triton-ascend, which uses the same import name",
    "triton-ascend": "the image has the one that fits its CANN",
}
CUDA_ONLY = {"flash-attn", "xformers", "cupy", "bitsandbytes", "auto-gptq", "autoawq", "flashinfer-python",
             "apex", "deepspeed-kernels", "tensorrt", "tensorrt-llm", "onnxruntime-gpu", "sgl-kernel",
             "faiss-gpu"}  # fmt: skip
PIP = re.compile(r"(?:.*/)?pip3?|pip3?\.\d+")
MAX_FINDINGS = 20


def _is_standard(name: str) -> bool:
    """Whether Python itself has a module of that name."""
    return name.replace("-", "_") in sys.stdlib_module_names


def provided_part(name: str) -> str:
    """The part of the environment, as the service names it, that a package would install again; "" for none."""
    if name == "torch-npu":
        return "torch-npu"
    if name in CANN or name.startswith(("cann-", "ascend-cann", "ascend-toolkit")) or name == "cann":
        return "CANN"
    return "Python" if name in PYTHON else ""


@check(
    "repo/requirements-provided",
    "requirements.txt leaves out what the environment provides",
    stage=Stage.REPO,
    rule=contract.PROVIDED,
    why="A second torch-npu or CANN package replaces the one that fits the machine's driver, or fails to install.",
)
def requirements_provided(submission: Submission) -> Findings:
    """Torch NPU, CANN and Python come with the environment; the service says not to repeat them.

    torch-npu, Python and the packages of the CANN toolkit (te, hccl, …) fail: that is the documented rule. torch,
    torchvision, torchaudio, vllm, vllm-ascend, triton and triton-ascend warn: the rule does not name them, but they
    belong to the same set of versions, and installing one of them moves the others.

    A `pip install` in deploy.sh that names one of them warns too.

    Repair: take the lines out; `npu-adapter verify --fix` does it. A line for another system, such as
    `torch==2.1.0; sys_platform == "darwin"`, does not count.
    """
    installed = tuple(installed_by((submission.deploy_sh or b"").decode("utf-8", "replace")))
    if submission.requirements is None and not installed:
        raise NotApplicable(f"there is no {contract.REQUIREMENTS}")
    for line, text, name in installed:
        yield warn(
            expected=f"no installation of {name}, which the environment provides",
            seen=f"pip install {text}",
            fix=f"take {text} out of the command",
            where=f"{contract.ENTRY_POINT}:{line}",
            evidence={"package": name},
        )
    for entry in entries(submission):
        provided = provided_part(entry.name)
        if provided:
            yield fail(
                expected=f"no line for {provided}, which the environment provides",
                seen=f"“{entry.text}”",
                fix=f"take line {entry.line} out of {entry.file}: `npu-adapter verify --fix` does it",
                where=entry.where,
                evidence={"package": entry.name},
            )
        elif entry.name in IMAGE:
            yield warn(
                expected=f"no line for {entry.name}: {IMAGE[entry.name]}",
                seen=f"“{entry.text}”",
                fix=f"take line {entry.line} out of {entry.file}, and use the image's {entry.name}",
                where=entry.where,
                evidence={"package": entry.name},
            )
        elif _is_standard(entry.name) and entry.form is Form.PACKAGE:
            yield warn(
                expected="packages from an index",
                seen=f"“{entry.text}”, a module of Python itself: pip finds no such package, or a stranger's",
                fix=f"take line {entry.line} out of {entry.file}",
                where=entry.where,
                evidence={"package": entry.name},
            )


def installed_by(script_text: str) -> Iterator[tuple[int, str, str]]:
    """Plain words of a pip install in a shell script that name a part of the environment: line, word, package."""
    script = shell.read(script_text[: shells.MAX_SCRIPT_BYTES])
    for command in script.commands():
        words = [word.text.strip("\"'") for word in command.words]
        if "install" not in words or not any(PIP.fullmatch(word) for word in words[: words.index("install")]):
            continue
        for word in words[words.index("install") + 1 :]:
            found = re.match(r"[A-Za-z][\w.-]*", word)
            name = canonicalize_name(found.group()) if found else ""
            if provided_part(name) or name in IMAGE:
                yield script.line(command.start), word, name


@check(
    "repo/requirements-stack",
    "requirements.txt fits the stack of the image",
    stage=Stage.REPO,
    why="A package in another version than vllm-ascend and vLLM were built with can keep them from starting.",
    requires=("repo/requirements-parse",),
)
def requirements_stack(submission: Submission) -> Findings:
    """Each requirement is compared with a row of the version matrix: what vllm-ascend and vLLM ask for there.

    The service does not say which versions its image has. So a conflict with the row (vllm-ascend 0.23.0 unless
    another one is chosen, or the file itself names one) warns, and says which rows the line would fit. It fails
    where the file itself asks for a vllm-ascend or vllm that excludes another of its lines: no image repairs that.

    Packages without a version warn, because the newest version of the day is installed then: pin them. Packages
    that only work with CUDA warn too. The rows, with their sources, are in healthcheck/data/stacks.json.
    """
    _needs_requirements(submission)
    lines = [entry for entry in entries(submission) if entry.name and not provided_part(entry.name)]
    row, declared = _row(lines, submission.stack)
    if not lines:
        yield note("nothing is asked for beyond the image")
    for entry in [entry for entry in lines if entry.name not in IMAGE][:MAX_FINDINGS]:
        yield from _conflict(entry, row, declared)
        if entry.name in CUDA_ONLY or entry.name.startswith(("nvidia-", "cupy-cuda")):
            yield warn(
                expected="packages that work on an NPU",
                seen=f"“{entry.text}” needs CUDA: it fails to build, or to load",
                fix="take the line out",
                where=entry.where,
            )
    yield from _unpinned(lines, constrained(submission))


def _needs_requirements(submission: Submission) -> None:
    if submission.requirements is None:
        raise NotApplicable(f"there is no {contract.REQUIREMENTS}")


def _row(lines: list[Entry], stack: str) -> tuple[stacks.Row, Entry | None]:
    """The row that the requirements name themselves, with the line that does; else the chosen row."""
    for name in ("vllm-ascend", "vllm"):
        for entry in lines:
            for pin in exact_versions(entry) if entry.name == name else ():
                for row in stacks.rows():
                    named = (row.vllm_ascend,) if name == "vllm-ascend" else row.vllm
                    if any(stacks.same_release(pin, version) for version in named):
                        return row, entry
    return stacks.row(stack), None


def _conflict(entry: Entry, row: stacks.Row, declared: Entry | None) -> Iterator[Finding]:
    if entry.form is not Form.PACKAGE or entry.requirement is None:
        return
    asked = str(entry.requirement.specifier)
    said = stacks.statements(row, entry.name)
    agreed = said if _meet([each.specifier for each in said]) else said[:1]
    against = next((each for each in agreed if not _meet([asked, each.specifier])), None)
    if against is None:
        return
    fitting = [each.vllm_ascend for each in stacks.rows() if _fits(entry.name, asked, each)]
    expected = f"{entry.name}{against.specifier}, which {against.by} asks for"
    fix = f"take the line out: the image brings {entry.name}; or write {entry.name}{agreed[0].specifier}"
    evidence: dict[str, JsonValue] = {
        "package": entry.name,
        "asked": asked,
        "row": row.vllm_ascend,
        "fits": list(fitting),
    }
    if declared is not None and against.by.split()[0] == declared.name and entry.name != "ray":
        yield fail(
            expected=expected,
            seen=f"“{entry.text}” beside “{declared.text}” ({declared.where}): no installation has both",
            fix=fix,
            where=entry.where,
            rule=contract.PROVIDED,
            evidence=evidence,
        )
        return
    other = f"; it fits {', '.join(fitting[:4])}" if fitting else "; it fits no row of the matrix"
    yield warn(expected=expected, seen=f"“{entry.text}”{other}", fix=fix, where=entry.where, evidence=evidence)


def _fits(name: str, asked: str, row: stacks.Row) -> bool:
    said = [each.specifier for each in stacks.statements(row, name)]
    return bool(said) and _meet([asked, *said])


def _unpinned(lines: list[Entry], elsewhere: frozenset[str]) -> Iterator[Finding]:
    """`elsewhere` are the packages that a constraints file pins, or that another finding is about."""
    loose = [
        entry
        for entry in lines
        if entry.name not in {*IMAGE, *elsewhere} and not _is_standard(entry.name)
        if entry.form is Form.PACKAGE and not _pinned(entry)
    ]
    if loose:
        more = f" and {len(loose) - 8} more" if len(loose) > 8 else ""
        names = ", ".join(entry.text.split(";")[0].strip() for entry in loose[:8])
        yield warn(
            expected="a version for every package: name==version",
            seen=f"{names}{more}: the newest version of the day is installed",
            fix="pip freeze shows the versions that were tested; write them behind ==",
            where=loose[0].where,
            evidence={"packages": [entry.name for entry in loose]},
        )


def _pinned(entry: Entry) -> bool:
    return entry.requirement is not None and any(each.operator in PINNING for each in entry.requirement.specifier)


def _meet(specifiers: list[str]) -> bool:
    """Whether some version satisfies all specifiers, tried at every version that they name and just beside it."""
    joined = [SpecifierSet(each) for each in specifiers if each]
    tried = {"0", "99999"}
    for each in (each for one in joined for each in one):
        tried |= set(_around(each.version))
    for text in tried:
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        if all(one.contains(version, prereleases=True) for one in joined):
            return True
    return any("===" in each for each in specifiers)


def _around(version: str) -> Iterator[str]:
    bare = version.removesuffix(".*")
    yield bare
    yield f"{bare}.1"
    yield f"{bare}.post1"
    release = re.match(r"\d{1,9}(?:\.\d{1,9})*", bare)
    parts = release.group().split(".") if release else []
    if parts:
        yield ".".join([*parts[:-1], str(int(parts[-1]) + 1)])
    for at, part in enumerate(parts):
        if int(part) > 0:
            yield ".".join([*parts[:at], str(int(part) - 1), "99999"])
