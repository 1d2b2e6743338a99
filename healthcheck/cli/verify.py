"""npu-adapter verify: everything that would go wrong at the service, before submission."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from healthcheck import contract, files, fix, hardware
from healthcheck.cli import number_types, output, sampling
from healthcheck.cli.places import new_place, new_report, place
from healthcheck.errors import UsageError
from healthcheck.language import phrases_of_the_process
from healthcheck.nearest import hint
from healthcheck.probe.bank import refuse_problems
from healthcheck.probe.folder import refuse_used
from healthcheck.probe.options.settings import settings_of
from healthcheck.probe.records import ProbeSettings
from healthcheck.progress import Progress
from healthcheck.records import Stage
from healthcheck.redact import without_secrets
from healthcheck.repo.settings import Settings, read_settings
from healthcheck.report import folder
from healthcheck.run import STAGES as ALWAYS
from healthcheck.run import TASKS, Request
from healthcheck.sandbox.job import CONSENT_OPTION, CONSENT_VARIABLE
from healthcheck.verify import Verification
from healthcheck.weights import ahead

FIX_ROUNDS = 3
"""CRLF hides the launch command from the plan, so that a second round may see more."""
STAGES = [stage.value for stage in ALWAYS]
_BEFORE_A_LAUNCH = {Stage.REPO, Stage.PLAN, Stage.WEIGHTS}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", nargs="?", type=place, help="the repository (default: this folder)")
    parser.add_argument("--weights", type=place, metavar="DIR", help="the weights; MODEL_PATH will be this folder")
    parser.add_argument(
        "--weights-config", type=place, metavar="FILE", help="before a download: the weights' config.json, with "
        "the model.safetensors.index.json beside it; judges task and hardware",
    )  # fmt: skip
    parser.add_argument(
        "--model-id", default="", metavar="NAME", help="the same for a model such as Qwen/Qwen3-8B, whose files "
        "huggingface_hub or modelscope downloads",
    )  # fmt: skip
    parser.add_argument("--task", default="", metavar="CODE", help=" | ".join(t.value for t in contract.Task))
    parser.add_argument("--until", choices=STAGES, metavar="STAGE",
                        help=f"the last stage to run: {', '.join(STAGES)} (default: all)")  # fmt: skip
    parser.add_argument(
        "--skip", action="append", default=[], metavar="ID", help="skip a check; the report says so"
    )
    parser.add_argument("--fix", action="store_true", help="make the safe repairs in the working copy first; "
                        "the exit status stays 1 until they are committed")  # fmt: skip
    parser.add_argument(
        "--no-settings", action="store_true", help="ignore the repository's own settings ([tool.npu-adapter] in "
        "pyproject.toml, [npu-adapter] in adapter.toml)",
    )  # fmt: skip
    parser.add_argument(
        "--staged", action="store_true", help="judge what is staged (git add) in place of the commit, as a hook "
        "does; without --weights an empty folder stands in",
    )  # fmt: skip
    parser.add_argument(
        "--stack", default="", metavar="ROW", help="vllm-ascend release to judge by, such as 0.23.0"
    )
    parser.add_argument(
        "--out", type=new_place, metavar="DIR", help="the report folder (default: a new one in report/)"
    )
    output.arguments(parser)
    running = parser.add_argument_group("a server that already runs")
    running.add_argument(
        "--url", default="", help="check only this server and no repository: the endpoint and the probe"
    )
    launch = parser.add_argument_group("launch")
    launch.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for deploy.sh")
    launch.add_argument(
        CONSENT_OPTION, action="store_true", help="run deploy.sh with all rights of this user if this "
        f"system can neither isolate nor confine it (also: {CONSENT_VARIABLE}=1); a launch does so anyway",
    )  # fmt: skip
    launch.add_argument("--deadline", type=number_types.positive, default=1800, metavar="S",
                        help="for the launch (default: %(default)g; the service's own is unknown)")  # fmt: skip
    limits = parser.add_argument_group("weights and hardware")
    limits.add_argument("--weight-limit", type=number_types.positive, metavar="GB",
                        help="gigabytes of 10^9 bytes (default: 100, the service's limit)")  # fmt: skip
    limits.add_argument("--npu", default="", metavar="KIND", help="the NPU that it has to fit, such as 910B4 or A3")
    limits.add_argument("--npus", type=number_types.count, default=0, metavar="N", help="how many of them")
    deep = parser.add_argument_group(
        "the engine's own configuration (see `npu-adapter explain plan/engine-config`)"
    )
    deep.add_argument(
        "--deep", action="store_true", help="have the real vLLM and vllm-ascend build it (one minute)"
    )
    deep.add_argument("--engine-python", default="", metavar="PYTHON", help="a Python that has both of them")
    numerics = parser.add_argument_group("numerics (see docs/numerics.md)")
    numerics.add_argument("--numerics", action="store_true",
                          help="compare log-probabilities that must agree, too (300 requests)")  # fmt: skip
    sampling.service_file(parser)
    sampling.arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Verify; the exit status of the verdict."""
    if not options.staged or options.weights or _stand_in(options):
        return _run(options)
    with tempfile.TemporaryDirectory(prefix=files.prefix()) as empty:
        options.weights = Path(empty)
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    _last_stage(options)
    _refuse_places(options)
    request = requested(options)
    if not request.ahead:
        return _verify(options, request)
    with tempfile.TemporaryDirectory(prefix=files.prefix()) as scratch:
        folder = Path(scratch) / "weights"
        folder.mkdir()
        if options.weights_config:
            ahead.gather(options.weights_config.expanduser(), folder)
        else:
            ahead.download(options.model_id, folder)
        return _verify(options, replace(request, weights=folder))


def _verify(options: argparse.Namespace, request: Request) -> int:
    if request.weights and not request.url and not request.weights.is_dir():
        raise UsageError(f"--weights {options.weights} is not a directory: pass the folder of the weights")
    launches = STAGES.index(options.until) >= STAGES.index(Stage.SERVICE.value)
    out = request.out if options.out or launches else None
    output.refuse_unwritable(options.json, options.junit, options.sarif, out=out)
    if request.until is Stage.PROBE:
        refuse_used(request.out)
        refuse_problems(request.probe)
    output.end_with_a_report()
    progress = output.progress(options)
    try:
        if options.fix:
            with contextlib.redirect_stdout(sys.stderr if options.json == output.STDOUT else sys.stdout):
                request = _repaired(request, progress)
        verification = Verification(request, progress)
        report = verification.run()
    finally:
        progress.close()
    published = output.publish(options, report, out, verification.measured)
    if published.folder and options.json != output.STDOUT:
        print(phrases_of_the_process().labelled("Report", str(published.folder / folder.PAGE)))
    return published.status


def _refuse_places(options: argparse.Namespace) -> None:
    """Check the given paths first, so that a wrong path is reported before a missing option."""
    if options.repo and options.url:
        raise UsageError(
            f"--url looks at a running server and at no repository: leave {options.repo} away, or --url"
        )
    if options.staged and (options.url or options.fix or Stage(options.until) not in _BEFORE_A_LAUNCH):
        raise UsageError("--staged is about a repository before a launch: --until repo, plan or weights, no --fix")
    if options.repo and not options.repo.expanduser().is_dir():
        raise UsageError(f"there is no folder {options.repo}: name the repository")


def _repaired(request: Request, progress: Progress) -> Request:
    """Make the repairs, each shown as a diff first; the run then verifies the repaired working copy."""
    if request.url or request.weights is None:
        raise UsageError("--fix repairs a repository: give one, and --weights DIR")
    say = phrases_of_the_process().say
    for _ in range(FIX_ROUNDS):
        verification = Verification(replace(request, until=Stage.PLAN), progress)
        repairs = verification.repairs(request.weights)
        if not repairs:
            made = verification.already_made(request.weights)
            left = verification.left_alone(made)
            for check in made:
                print(say(f"already repaired in the working copy for {check}: commit it (git commit -a)"))
            print("".join(f"{say(text)}\n" for text in left), end="")
            if not (made or left or request.pending):
                print(say("nothing to repair: no finding is one that --fix repairs"), file=sys.stderr)
            return replace(request, pending=True) if made else request
        print(without_secrets(fix.diff(repairs)), end="")
        for repair in repairs:
            print(say(f"repaired for {repair.check}: {repair.title}"))
        fix.apply(request.root.resolve(), repairs)
        request = replace(request, pending=True)
    return request


def requested(options: argparse.Namespace) -> Request:
    """What the options ask for.

    Raises:
        UsageError: they contradict each other, or one is missing.
    """
    settings = _settings(options)
    asked = sampling.asked(options)
    stands_in = _stand_in(options)
    _last_stage(options)
    sampling.refuse_what_the_service_lacks(asked)
    if options.weights is None and not options.url and not stands_in and Stage(options.until) is not Stage.REPO:
        enough = " (what deploy.sh reads there is enough for --until plan, such as config.json)"
        raise UsageError(
            "--weights DIR is needed: the folder of the weights, which becomes MODEL_PATH"
            f"{enough if Stage(options.until) is Stage.PLAN else ''}; without it, --until repo"
        )
    if options.url and Stage(options.until) not in {Stage.ENDPOINT, Stage.PROBE}:
        raise UsageError("--url looks at a running server only: --until is endpoint or probe")
    judged = not options.url and STAGES.index(options.until) >= STAGES.index(Stage.WEIGHTS.value)
    if options.task and not judged and options.task not in TASKS:
        raise UsageError(
            f"--task {options.task!r} is not one of {', '.join(TASKS)}{hint(options.task, TASKS)} "
            "(--until weights judges another task code)"
        )
    if options.npu:
        one_family(options.npu)
    if options.engine_python and not options.deep:
        raise UsageError("--engine-python is for --deep: give both")
    if options.numerics and Stage(options.until) not in {Stage.ENDPOINT, Stage.PROBE}:
        raise UsageError("--numerics asks a running server: --until is endpoint or probe")
    if options.deep and (options.url or Stage(options.until) is Stage.REPO):
        raise UsageError("--deep is about the launch command: it needs a repository and --until plan or later")
    limit = contract.MAX_WEIGHT_BYTES if options.weight_limit is None else int(options.weight_limit * 10**9)
    return Request(
        root=options.repo or Path(),
        weights=options.weights.expanduser().absolute() if options.weights else None,
        out=options.out or new_report("verify").absolute(),
        url=sampling.server_root(options.url) if options.url else "",
        model=asked.model or "",
        task=options.task,
        ahead=stands_in,
        stack=options.stack,
        until=Stage(options.until),
        staged=options.staged,
        waived=_waived(options.skip, settings),
        settings=settings.file,
        own_settings=not options.no_settings,
        environment=dict(map(variable, options.env)),
        deadline_s=options.deadline,
        weight_limit_bytes=limit,
        npu=options.npu,
        npus=options.npus,
        deep=options.deep,
        numerics=options.numerics,
        engine_python=options.engine_python,
        unconfined=options.unconfined or os.environ.get(CONSENT_VARIABLE, "").lower() in {"1", "true", "yes"},
        probe=settings_of(asked, ProbeSettings(url="", family="", full=asked.reference is None)),
    )


def one_family(npu: str) -> None:
    """Refuse a name that means nothing, or kinds of NPUs that differ in more than their memory."""
    found = hardware.find(npu)
    if not found:
        known = ", ".join(kind.label for kind in hardware.KINDS)
        raise UsageError(
            f"no NPU of the kind {npu!r} is known; those that are: {known} (and products by Huawei's names, "
            "such as “Atlas 800I A2”)"
        )
    if len({kind.family for kind in found}) > 1:
        either = " or ".join(kind.label for kind in found)
        raise UsageError(f"--npu {npu!r} may be {either}: name one; `npu-smi info` shows its name and memory")


def _stand_in(options: argparse.Namespace) -> str:
    """What stands for the weights that are not here; "" if they are."""
    if not (options.weights_config or options.model_id):
        return ""
    if (options.weights_config and options.model_id) or options.weights or options.url:
        raise UsageError("--weights, --weights-config, --model-id and --url exclude each other: give one")
    late = options.until and STAGES.index(options.until) > STAGES.index(Stage.WEIGHTS.value)
    if late or options.deep:
        what = f"--until {options.until}" if late else "--deep"
        raise UsageError(f"{what} needs the weights themselves: give --weights DIR")
    return str(options.weights_config or options.model_id)


def _last_stage(options: argparse.Namespace) -> None:
    """Without --until everything runs, or everything that needs no weights where they are not here."""
    options.until = options.until or (Stage.WEIGHTS.value if _stand_in(options) else STAGES[-1])


def _settings(options: argparse.Namespace) -> Settings:
    """The repository's own; they take the place of options that were not given."""
    if options.url or options.no_settings:
        return Settings()
    settings = read_settings((options.repo or Path()).expanduser())
    options.task = options.task or settings.task
    options.stack = options.stack or settings.stack
    options.npu = options.npu or settings.npu
    options.npus = options.npus or settings.npus
    return settings


def _waived(ids: list[str], settings: Settings) -> dict[str, str]:
    """The ids with their reasons; each has to exist: a misspelt one must not be ignored."""
    asked = {check: f"{settings.file}: {reason}" for check, reason in settings.skip.items()}
    asked |= dict.fromkeys(ids, "--skip")
    if not asked:
        return {}
    from healthcheck import catalogue  # noqa: PLC0415 - it imports every check of every stage

    return {catalogue.page(check).id: reason for check, reason in asked.items()}


def variable(text: str) -> tuple[str, str]:
    """The name and the value of `--env`.

    Raises:
        UsageError: it is not NAME=VALUE.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--env {text!r} has no '=': write --env NAME=VALUE")
    return name, value
