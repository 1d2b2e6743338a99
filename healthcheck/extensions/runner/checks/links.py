"""runner/links: the network ports of the NPUs are connected."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.links import UNCONFIGURED, UP, WELL
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import listed
from healthcheck.text.messages import msg


@npu_check(
    "runner/links",
    "The network ports of the NPUs are connected",
    why="Several machines serve one model over these ports; one that is down makes all of them wait.",
)
def links(facts: RunnerFacts) -> Findings:
    """Asks `hccn_tool -i N -link -g` and `-net_health -g` for each device. The devices of one machine reach each
    other without these ports, so nothing fails here. A port that is DOWN while others are UP warns, and so does
    a health other than Success; Init only says that no address is set to test against. If all ports are down,
    the machine is taken to have no such network, which is mentioned.

    To repair: plug in the cable or the optical module (hccn_tool -i N -optical -g), set address and gateway
    (hccn_tool -i N -ip -s address …), and look at the port of the switch.

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
    down = [port for port in ports if port.link and port.link != UP]
    expected = msg("link {up}, as with {up2} other ports", UP, len(up))
    for port in down if up else []:
        seen = msg("device {device}: {link}", port.device, port.link)
        fix = msg("hccn_tool -i {device} -optical -g, then the cable and the port of the switch", port.device)
        yield warn(expected=expected, seen=seen, fix=fix, where=f"hccn_tool -i {port.device} -link -g")
    for port in ports:
        if port.link in {UP, ""} and port.health not in {WELL, UNCONFIGURED, ""}:
            device, expected = port.device, msg("net health {well}", WELL)
            seen = msg("device {device}: {health}", device, port.health)
            fix = msg("hccn_tool -i {device} -netdetect -g, and -ip -g: ping the address from there", device)
            yield warn(expected=expected, seen=seen, fix=fix, where=f"hccn_tool -i {device} -net_health -g")
    if down and not up:
        yield note(msg("no port is up ({down} devices): one machine alone does not need them", len(down)))
    unset = [str(port.device) for port in ports if port.health == UNCONFIGURED]
    if unset:
        yield note(msg("no address to test against is set for device {unset}", listed(unset)))
