"""runner/links: the network ports of the NPUs are connected."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.links import UNCONFIGURED, UP, WELL, Port
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import listed
from healthcheck.text.messages import msg


@npu_check(
    "runner/links",
    msg("The network ports of the NPUs are connected"),
    why=msg(
        "Several machines serve one model over these ports. One port that is down makes all of them wait."
    ),
)
def links(facts: RunnerFacts) -> Findings:
    """Runs `hccn_tool -i N -link -g` and `hccn_tool -i N -net_health -g` for each device. The devices of one
    machine reach each other without these ports, so nothing fails here. A port that is DOWN while others are UP
    warns, and so does a health other than Success. Init only means that no address to test is configured. If
    every port is down, the machine is taken to have no such network, and a note says so.

    To repair: plug in the cable or the optical module (`hccn_tool -i N -optical -g` shows it), set the address
    and the gateway (`hccn_tool -i N -ip -s address …`), and check the port of the switch.

    Example:
    ```console
    $ hccn_tool -i 3 -link -g
    link status: DOWN
    ```

    Use instead:

    ```console
    $ hccn_tool -i 3 -link -g
    link status: UP
    ```
    """
    if facts.links.trouble:
        raise NotApplicable(facts.links.trouble)
    ports = facts.links.ports
    up = [port for port in ports if port.link == UP]
    down = [port for port in ports if port.link not in {UP, ""}]
    if up:
        yield from (_down(port, others=len(up)) for port in down)
    elif down:
        yield note(
            msg(
                "no port is up (devices: {count}): a single machine does not need them",
                count=len(down),
            )
        )
    for port in ports:
        if port.link in {UP, ""} and port.health not in {WELL, UNCONFIGURED, ""}:
            yield _unwell(port)
    untested = [str(port.device) for port in ports if port.health == UNCONFIGURED]
    if untested:
        yield note(
            msg("no address to test is configured for device {devices}", devices=listed(untested))
        )


def _down(port: Port, *, others: int) -> Finding:
    return warn(
        expected=msg("link {up}, like the other ports ({count})", up=UP, count=others),
        seen=msg("device {device}: {link}", device=port.device, link=port.link),
        fix=msg("hccn_tool -i {device} -optical -g", device=port.device),
        where=f"hccn_tool -i {port.device} -link -g",
    )


def _unwell(port: Port) -> Finding:
    return warn(
        expected=msg("net health {well}", well=WELL),
        seen=msg("device {device}: {health}", device=port.device, health=port.health),
        fix=msg("hccn_tool -i {device} -netdetect -g", device=port.device),
        where=f"hccn_tool -i {port.device} -net_health -g",
    )
