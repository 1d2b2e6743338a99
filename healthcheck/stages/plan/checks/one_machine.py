"""plan/one-machine: nothing waits for a second machine; the evaluation service has one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, check, fail, unsettled
from healthcheck.engines.base import Grammar
from healthcheck.sandbox.protocol import ADDRESS
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import SETTINGS, LaunchPlan, RecordedCommand, ServerCommand
from healthcheck.stages.plan.servers.options import parse
from healthcheck.stages.plan.servers.served import is_fixed_address
from healthcheck.system import toml_text
from healthcheck.system.toml_text import TomlBoundError, TomlError
from healthcheck.text.messages import joined, msg

_GROUP_KEYS = ("multi_node", "nodes")


class Sign(NamedTuple):
    """Evidence of a launch over several machines."""

    seen: str
    where: str


@check(
    "plan/one-machine",
    msg("One machine is enough"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "The evaluation service has one machine; a server that waits for others never answers."
    ),
)
def one_machine(plan: LaunchPlan) -> Findings:
    """The service starts the adapter with one script on one machine. Nobody starts a second part elsewhere, so a
    server that is one of several nodes waits for the others until the job is given up.

    It fails where more than one machine is written down: `multi_node` with two `nodes` in adapter.toml, --nnodes
    above 1 (vLLM, SGLang, LMDeploy) unless every rank runs here at once, data parallelism of which a part runs
    elsewhere (--data-parallel-size-local below --data-parallel-size, --data-parallel-start-rank; all servers that
    deploy.sh starts count together), a Ray cluster that is joined at another machine's address. Ray on one machine
    (--distributed-executor-backend ray alone, `ray start --head`) is fine.

    Repair: submit the adapter without these lines. A model that needs several machines cannot be evaluated;
    quantised weights or a shorter context may fit one.

    Example:
    ```sh
    exec vllm serve "$MODEL_PATH" --nnodes 2 --node-rank 0 --master-addr 10.0.0.1
    ```

    Use instead:

    ```sh
    exec vllm serve "$MODEL_PATH"
    ```
    """
    if plan.server is None and not plan.settings:
        raise NotApplicable(msg("no server is started"))
    written: dict[str, object] = {}
    try:
        written = toml_text.load(plan.settings, SETTINGS)
    except TomlBoundError as error:  # the adapter's own parser has no limits
        expected = msg(
            "{settings} that can be read, for {group_keys}",
            settings=SETTINGS,
            group_keys=joined(" and ", _GROUP_KEYS),
        )
        fix = msg("write plain settings, one a line")
        yield unsettled(expected=expected, seen=str(error), fix=fix, where=SETTINGS)
    except TomlError:
        pass  # the adapter reports it
    signs = tuple(_of_settings(plan, written)) or tuple(dict.fromkeys(_of_commands(plan)))
    for sign in signs:
        expected = msg("a server that one machine can start: the evaluation service has one")
        fix = msg(
            "remove this for the submission; the service cannot evaluate a model that needs several machines"
        )
        if sign.where.startswith(SETTINGS):
            fix = msg(
                "comment out {group_keys} in {settings}",
                group_keys=joined(" and ", _GROUP_KEYS),
                settings=SETTINGS,
            )
        yield fail(expected=expected, seen=sign.seen, fix=fix, where=sign.where)


def _of_commands(plan: LaunchPlan) -> Iterator[Sign]:
    if server := plan.server:
        cluster, here = server.env.get("RAY_ADDRESS", ""), server.place
        for seen in (*_of_nodes(server, plan.servers), *_of_copies(server, plan.servers)):
            yield Sign(seen=seen, where=here)
        if _is_elsewhere(cluster):
            yield Sign(
                seen=msg(
                    "RAY_ADDRESS={cluster}: the Ray cluster of another machine", cluster=cluster
                ),
                where=here,
            )
    for command in plan.commands:
        address = _options(command).get("address", "") if command.program == "ray" else ""
        if "start" in command.argv and _is_elsewhere(address):
            said = command_text(command.argv)
            joins = msg("joins the Ray cluster at {address}: {said}", address=address, said=said)
            yield Sign(seen=joins, where=command.where or said)


def _of_settings(plan: LaunchPlan, written: Mapping[str, object]) -> Iterator[Sign]:
    """Evidence in the adapter's settings; the environment takes precedence (adapter/settings.py)."""
    environment = plan.server.env if plan.server else {}
    given = {key: environment.get(f"ADAPTER_{key.upper()}", "").strip() for key in _GROUP_KEYS}
    style, nodes = (given[key] or written.get(key, "") for key in _GROUP_KEYS)
    try:
        addresses = shlex.split(nodes) if isinstance(nodes, str) else nodes
    except ValueError:
        return  # the adapter reports it and starts no server
    if "default" in (style, nodes) or not (
        isinstance(style, str) and style and isinstance(addresses, list)
    ):
        return
    if len(addresses) > 1:
        names = [f"ADAPTER_{key.upper()}" if given[key] else key for key in _GROUP_KEYS]
        seen = msg(
            '{option} = "{style}" over {addresses} nodes ({variables})',
            option=names[0],
            style=style,
            addresses=len(addresses),
            variables=names[1],
        )
        lines = enumerate(plan.settings.splitlines(), 1)
        written_at = next((at for at, line in lines if line.lstrip().startswith(_GROUP_KEYS)), 1)
        started = plan.server if all(given.values()) else None
        yield Sign(seen=seen, where=started.place if started else f"{SETTINGS}:{written_at}")


def _of_nodes(server: ServerCommand, servers: Sequence[ServerCommand]) -> Iterator[str]:
    nodes = _number(server.option("nnodes"))
    ranks = {
        _number(each.option("node-rank"))
        for each in servers
        if _number(each.option("nnodes")) == nodes
    }
    if nodes > max(1, len(ranks)):
        yield msg(
            "--nnodes {nodes}: {quoted}", nodes=server.option("nnodes"), quoted=server.command
        )


def _of_copies(server: ServerCommand, servers: Sequence[ServerCommand]) -> Iterator[str]:
    """Data parallelism of which the recorded servers run only a part."""
    copies, said = _number(server.option("data-parallel-size")), server.command
    if server.option("data-parallel-rank") is not None:
        ranks = {_number(rank) for each in servers if (rank := each.option("data-parallel-rank"))}
        if len(ranks) < copies:
            yield msg(
                "{ranks} of the {copies} ranks of --data-parallel-size run here: {quoted}",
                ranks=len(ranks),
                copies=copies,
                quoted=said,
            )
        return
    group = [each for each in servers if _number(each.option("data-parallel-size")) == copies]
    parts = sorted((_first_rank(each), _copies_of(each, copies)) for each in group)
    here = sum(
        dict(parts).values()
    )  # the largest for each first rank: a head may run no copy itself
    first = min(map(_first_rank, group), default=0)
    if server.option("data-parallel-size-local") is not None and here < copies:
        yield msg(
            "{here} of the {copies} copies of --data-parallel-size run here: {quoted}",
            here=here,
            copies=copies,
            quoted=said,
        )
    elif first > 0:
        yield msg("the copies before number {map} run elsewhere: {quoted}", map=first, quoted=said)


def _first_rank(server: ServerCommand) -> int:
    return _number(server.option("data-parallel-start-rank"))


def _copies_of(server: ServerCommand, copies: int) -> int:
    local = server.option("data-parallel-size-local")
    return copies - _first_rank(server) if local is None else _number(local)


def _options(command: RecordedCommand) -> Mapping[str, str]:
    return parse(command.argv[1:], Grammar()).options


def _number(text: str | None) -> int:
    """A count; 0 for any other text."""
    first = (text or "").strip()
    return int(first) if first.isascii() and first.isdigit() and len(first) < 10 else 0


def _host(address: str) -> str:
    parts = urlsplit(address if "//" in address else f"//{address}")
    try:
        return parts.hostname or ""
    except ValueError:
        return ""


def _is_elsewhere(address: str) -> bool:
    """Whether the address is another machine's: a fixed address, or a domain name."""
    host = _host(address)
    if host in (
        ADDRESS,
        "localhost.localdomain",
    ):  # ADDRESS is what the script looked up in the dry run
        return False
    return is_fixed_address(host) or ("." in host and not host.replace(".", "").isdigit())
