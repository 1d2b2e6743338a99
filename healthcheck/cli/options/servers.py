"""The options that name the servers of a probe, or launch them."""

from __future__ import annotations

import argparse

from healthcheck import contract
from healthcheck.cli import number_types
from healthcheck.text.messages import msg

DEFAULT_DEADLINE_S = 1800.0


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", nargs="+", help=msg(
"the server's root, such as http://127.0.0.1:{port}; several servers of one model share the "
"samples; with --on, the repository to launch", contract.PORT),
    )  # fmt: skip
    group = parser.add_argument_group("servers to launch (see docs/fleet.md)")
    group.add_argument(
        "--on", default="", metavar="ADDRESS", help="launch the repository on a cluster of Ray, one server a node, "
        "for as long as the probe takes: auto, HOST:PORT or ray://HOST:PORT",
    )  # fmt: skip
    group.add_argument("--weights", metavar="DIR", help="the weights, a path on the nodes")
    group.add_argument(
        "--replicas", type=number_types.count, metavar="N", help="how many servers (default: on all nodes that fit)"
    )
    group.add_argument("--npus", type=number_types.count, metavar="N", help="NPUs of each server (default: 0)")
    group.add_argument("--npu", metavar="KIND", help="their kind, such as 910B4")
    group.add_argument("--env", action="append", metavar="NAME=VALUE", help="a variable for deploy.sh")
    told = msg("for the launch (default: {default_deadline_s:g})", DEFAULT_DEADLINE_S)
    group.add_argument("--deadline", type=number_types.positive, metavar="S", help=told)
