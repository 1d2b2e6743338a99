"""plan/one-machine: nothing waits for a second machine; the evaluation service has one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, check, fail, unsettled, warn
from healthcheck.sandbox.protocol import ADDRESS
from healthcheck.stages.plan.commands import command_text
from healthcheck.stages.plan.records import SETTINGS, LaunchPlan, RecordedCommand, ServerCommand
from healthcheck.stages.plan.servers.engines import is_fixed_address
from healthcheck.stages.plan.servers.options import Grammar, parse
from healthcheck.system import toml_text
from healthcheck.system.toml_text import TomlBoundError, TomlError
from healthcheck.text.messages import joined, msg

_GROUP_KEYS = ("multi_node", "nodes")
_LAUNCHERS = {
    "torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "accelerate.commands.launch",
    "deepspeed",
}  # fmt: skip
_NODES, _RANKS = ("nnodes", "num-machines", "num-nodes"), ("node-rank", "machine-rank")
_MEETING_POINTS = {"master-addr", "main-process-ip", "rdzv-endpoint"}
_PEER_OPTIONS = ("data-parallel-address", "dist-init-addr", "master-addr")


class Sign(NamedTuple):
    """Evidence of a multi-node launch; `sure` if it cannot work on one node."""

    seen: str
    where: str
    sure: bool = True


@check(
    "plan/one-machine",
    "One machine is enough",
    rule=contract.STARTS_THE_SERVICE,
    why="The evaluation service has one machine; a server that waits for others never answers.",
)
def one_machine(plan: LaunchPlan) -> Findings:
    """The service starts the adapter with one script on one machine. Nobody starts a second part elsewhere, so a
    server that is one of several nodes waits for the others until the job is given up.

    It fails where more than one machine is written down: `multi_node` with two `nodes` in adapter.toml, --nnodes
    above 1 (vLLM, SGLang, LMDeploy, torchrun, accelerate) unless every rank runs here at once, data parallelism of
    which a part runs elsewhere (--data-parallel-size-local below --data-parallel-size, --data-parallel-start-rank;
    all servers that deploy.sh starts count together), a Ray cluster that is joined at another machine's address.
    The fixed address of one machine as the meeting point of all ranks is a warning. Ray on one machine
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
        expected = msg("{settings} that can be read, for {group_keys}", SETTINGS, joined(" and ", _GROUP_KEYS))
        fix = msg("write plain settings, one a line")
        yield unsettled(expected=expected, seen=str(error), fix=fix, where=SETTINGS)
    except TomlError:
        pass  # the adapter reports it
    signs = tuple(_of_settings(plan, written)) or tuple(dict.fromkeys(_of_commands(plan)))
    for sign in [sign for sign in signs if sign.sure] or signs:
        say = fail if sign.sure else warn
        expected = msg("a server that one machine can start: the evaluation service has one")
        fix = msg("remove this for the submission; the service cannot evaluate a model that needs several machines")
        if sign.where.startswith(SETTINGS):
            fix = msg("comment out {group_keys} in {settings}", joined(" and ", _GROUP_KEYS), SETTINGS)
        yield say(expected=expected, seen=sign.seen, fix=fix, where=sign.where)


def _of_commands(plan: LaunchPlan) -> Iterator[Sign]:
    if server := plan.server:
        cluster, here = server.env.get("RAY_ADDRESS", ""), server.place
        for seen in (*_of_nodes(server, plan.servers), *_of_copies(server, plan.servers)):
            yield Sign(seen=seen, where=here)
        if _is_elsewhere(cluster):
            yield Sign(seen=msg("RAY_ADDRESS={cluster}: the Ray cluster of another machine", cluster), where=here)
        yield from _of_addresses(server)
    for command in plan.commands:
        address = _options(command).get("address", "") if command.program == "ray" else ""
        if "start" in command.argv and _is_elsewhere(address):
            said = command_text(command.argv)
            joins = msg("joins the Ray cluster at {address}: {said}", address, said)
            yield Sign(seen=joins, where=command.where or said)
    yield from _of_launchers(plan.commands)


def _of_settings(plan: LaunchPlan, written: Mapping[str, object]) -> Iterator[Sign]:
    """Evidence in the adapter's settings; the environment takes precedence (adapter/settings.py)."""
    environment = plan.server.env if plan.server else {}
    given = {key: environment.get(f"ADAPTER_{key.upper()}", "").strip() for key in _GROUP_KEYS}
    style, nodes = (given[key] or written.get(key, "") for key in _GROUP_KEYS)
    try:
        addresses = shlex.split(nodes) if isinstance(nodes, str) else nodes
    except ValueError:
        return  # the adapter reports it and starts no server
    if "default" in (style, nodes) or not (isinstance(style, str) and style and isinstance(addresses, list)):
        return
    if len(addresses) > 1:
        names = [f"ADAPTER_{key.upper()}" if given[key] else key for key in _GROUP_KEYS]
        told = (names[0], style, len(addresses), names[1])
        seen = msg('{names} = "{style}" over {addresses} nodes ({names2})', *told)
        lines = enumerate(plan.settings.splitlines(), 1)
        written_at = next((at for at, line in lines if line.lstrip().startswith(_GROUP_KEYS)), 1)
        started = plan.server if all(given.values()) else None
        yield Sign(seen=seen, where=started.place if started else f"{SETTINGS}:{written_at}")


def _of_nodes(server: ServerCommand, servers: Sequence[ServerCommand]) -> Iterator[str]:
    nodes = _number(server.option("nnodes"))
    ranks = {_number(each.option("node-rank")) for each in servers if _number(each.option("nnodes")) == nodes}
    if nodes > max(1, len(ranks)):
        yield msg("--nnodes {nodes}: {quoted}", server.option("nnodes"), server.command)


def _of_copies(server: ServerCommand, servers: Sequence[ServerCommand]) -> Iterator[str]:
    """Data parallelism of which the recorded servers run only a part."""
    copies, said = _number(server.option("data-parallel-size")), server.command
    if server.option("data-parallel-rank") is not None:
        ranks = {_number(rank) for each in servers if (rank := each.option("data-parallel-rank"))}
        if len(ranks) < copies:
            told = (len(ranks), copies, said)
            yield msg("{ranks} of the {copies} ranks of --data-parallel-size run here: {quoted}", *told)
        return
    group = [each for each in servers if _number(each.option("data-parallel-size")) == copies]
    parts = sorted((_first_rank(each), _copies_of(each, copies)) for each in group)
    here = sum(dict(parts).values())  # the largest for each first rank: a head may run no copy itself
    first = min(map(_first_rank, group), default=0)
    if server.option("data-parallel-size-local") is not None and here < copies:
        yield msg("{here} of the {copies} copies of --data-parallel-size run here: {quoted}", here, copies, said)
    elif first > 0:
        yield msg("the copies before number {map} run elsewhere: {quoted}", first, said)


def _first_rank(server: ServerCommand) -> int:
    return _number(server.option("data-parallel-start-rank"))


def _copies_of(server: ServerCommand, copies: int) -> int:
    local = server.option("data-parallel-size-local")
    return copies - _first_rank(server) if local is None else _number(local)


def _of_addresses(server: ServerCommand) -> Iterator[Sign]:
    for name in _PEER_OPTIONS:
        address = server.option(name) or ""
        if _host(address) != ADDRESS and is_fixed_address(_host(address)):
            yield Sign(seen=_meeting(address, name, server.command), where=server.place, sure=False)


def _of_launchers(commands: Sequence[RecordedCommand]) -> Iterator[Sign]:
    """Launchers of several processes that wait for nodes that deploy.sh does not start."""
    launchers = [(command, _options(command)) for command in commands if command.program in _LAUNCHERS]
    for command, given in launchers:
        nodes, said = _number(_first(given, _NODES)), command_text(command.argv)
        together = [other for each, other in launchers if each.alive and _number(_first(other, _NODES)) == nodes]
        # nodes with a rendezvous number themselves; without one, each node is number 0
        free = (f"free {at}" if "rdzv-endpoint" in other else "0" for at, other in enumerate(together))
        ranks = {_first(other, _RANKS) or rank for other, rank in zip(together, free, strict=True)}
        if nodes > max(1, len(ranks)):
            yield Sign(seen=said, where=command.where or said)
        for name in _MEETING_POINTS & given.keys() if nodes > 1 else ():
            if _is_elsewhere(given[name]):
                yield Sign(seen=_meeting(given[name], name, said), where=command.where or said)


def _meeting(address: str, option: str, said: str) -> str:
    where = (address, option, said)
    return msg("all ranks meet at {address} (--{name}), the address of one machine of yours: {quoted}", *where)


def _options(command: RecordedCommand) -> Mapping[str, str]:
    return parse(command.argv[1:], Grammar()).options


def _first(given: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if name in given), None)


def _number(text: str | None) -> int:
    """A count, or the minimum of a range such as torchrun's 2:4; 0 for any other text."""
    first = (text or "").partition(":")[0].strip()
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
    if host in (ADDRESS, "localhost.localdomain"):  # ADDRESS is what the script looked up in the dry run
        return False
    return is_fixed_address(host) or ("." in host and not host.replace(".", "").isdigit())
