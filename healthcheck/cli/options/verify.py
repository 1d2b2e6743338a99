"""The options of `npu-adapter verify`."""

from __future__ import annotations

import argparse

from healthcheck import contract
from healthcheck.cli import number_types, output, sampling
from healthcheck.cli.parsing import begin_help
from healthcheck.cli.places import new_place, place
from healthcheck.core.extensions import additions, declare_additions
from healthcheck.core.stages import STAGES
from healthcheck.sandbox.job import CONSENT_OPTION, CONSENT_VARIABLE
from healthcheck.text.messages import msg

DEFAULT_DEADLINE_S = 1800.0
EVERYDAY = (
    "--weights", "--weights-config", "--model-id", "--task", "--until", "--skip", "--fix", "--stack", "--npu",
    "--npus", "--url", "--out", "--json", "--quiet", "--verbose", "--lang",
)  # fmt: skip
OF_PROBE_ALONE = ("--logprobs",)
"""Questions about a measurement; a verdict needs neither, and --probe-config has them."""


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(
        parser,
        "my-adapter --weights /data/Qwen3-8B",
        "my-adapter --model-id Qwen/Qwen3-8B --npu 910B4 --npus 2",
        f"--url http://127.0.0.1:{contract.PORT}",
        everyday=(*EVERYDAY, *(flag for each in additions("verify") for flag in each.everyday)),
    )
    parser.add_argument(
        "repo", nargs="?", type=place, help=msg("the repository (default: this folder)")
    )
    parser.add_argument(
        "--weights",
        type=place,
        metavar="DIR",
        help=msg("the weights; MODEL_PATH will be this folder"),
    )
    parser.add_argument(
        "--weights-config",
        type=place,
        metavar="FILE",
        help=msg(
            "before a download: the weights' config.json, with "
            "the model.safetensors.index.json beside it; judges task and hardware"
        ),
    )
    parser.add_argument(
        "--model-id",
        default="",
        metavar="NAME",
        help=msg(
            "the same for a model such as Qwen/Qwen3-8B, whose files huggingface_hub or modelscope downloads"
        ),
    )
    parser.add_argument("--task", default="", metavar="CODE", help=" | ".join(contract.TASKS))
    last = msg(
        "the last stage to run: {stages} (default: all; without weights, plan)",
        stages=", ".join(stage.name for stage in STAGES),
    )
    parser.add_argument(
        "--until", choices=[stage.name for stage in STAGES], metavar="STAGE", help=last
    )
    parser.add_argument(
        "--skip",
        action="append",
        default=[],
        metavar="ID",
        help=msg("skip a check; the report says so"),
    )
    parser.add_argument(
        "--strict", action="store_true", help=msg("warnings count as failures, for CI")
    )
    output.extensions_argument(parser)
    parser.add_argument("--fix", action="store_true", help=msg("make the safe repairs in the working copy first; "
                        "the exit status stays 1 until they are committed"))  # fmt: skip
    parser.add_argument(
        "--no-settings",
        action="store_true",
        help=msg(
            "ignore the repository's own settings ([tool.npu-adapter] in "
            "pyproject.toml, [npu-adapter] in adapter.toml)"
        ),
    )
    parser.add_argument(
        "--staged",
        action="store_true",
        help=msg(
            "judge what is staged (git add) in place of the commit, as a hook does; --until repo, plan or weights"
        ),
    )
    parser.add_argument(
        "--stack",
        default="",
        metavar="ROW",
        help=msg("vllm-ascend release to judge by, such as 0.23.0"),
    )
    parser.add_argument(
        "--out",
        type=new_place,
        metavar="DIR",
        help=msg(
            "the report folder (default: a new one in report/); overwrites an earlier report on this repository"
        ),
    )
    output.arguments(parser)
    running = parser.add_argument_group(msg("a server that already runs"))
    running.add_argument(
        "--url",
        default="",
        help=msg("check only this server and no repository: the endpoint and the probe"),
    )
    launch = parser.add_argument_group(msg("launch"))
    launch.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=msg("a variable for deploy.sh"),
    )
    launch.add_argument(
        CONSENT_OPTION,
        action="store_true",
        help=msg(
            "run deploy.sh with all rights of this user if this system can neither isolate nor confine "
            "it (also: {consent_variable}=1); a launch does so anyway",
            consent_variable=CONSENT_VARIABLE,
        ),
    )
    told = msg(
        "for the launch (default: the service's, or {deadline_s:g} if that is unknown)",
        deadline_s=DEFAULT_DEADLINE_S,
    )
    launch.add_argument("--deadline", type=number_types.positive, metavar="S", help=told)
    limits = parser.add_argument_group(msg("weights and hardware"))
    most = msg(
        "gigabytes of 10^9 bytes (default: {limit_gb}, the service's limit)",
        limit_gb=contract.MAX_WEIGHT_GB,
    )
    limits.add_argument("--weight-limit", type=number_types.positive, metavar="GB", help=most)
    limits.add_argument(
        "--npu",
        default="",
        metavar="KIND",
        help=msg("the NPU that it has to fit, such as 910B4 or A3"),
    )
    limits.add_argument(
        "--npus", type=number_types.count, default=0, metavar="N", help=msg("how many of them")
    )
    declare_additions(parser, "verify")
    sampling.service_file(parser)
    sampling.arguments(parser, without=OF_PROBE_ALONE)
