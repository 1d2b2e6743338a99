"""runner/proxy: no proxy stands before this machine itself."""

from __future__ import annotations

from healthcheck.check import Findings, check, warn
from healthcheck.records import Stage
from healthcheck.runner.records import RunnerFacts


@check(
    "runner/proxy",
    "No proxy stands before this machine's own server",
    stage=Stage.RUNNER,
    why="A client on the machine that sends 127.0.0.1 through a proxy never reaches the server.",
)
def proxy(facts: RunnerFacts) -> Findings:
    """With http_proxy or all_proxy set, no_proxy should hold localhost and 127.0.0.1; else the evaluation's client,
    and HCCL's and Ray's own requests, may go to the proxy.

    To repair: export no_proxy=localhost,127.0.0.1 (and NO_PROXY the same).
    """
    set_ = facts.host.variables
    proxies = [name for name in set_ if name.lower() in {"http_proxy", "all_proxy"} and set_[name]]
    past = {word.strip().lower() for name in ("no_proxy", "NO_PROXY") for word in set_.get(name, "").split(",")}
    missing = [name for name in ("localhost", "127.0.0.1") if name not in past]
    if proxies and missing and "*" not in past:
        yield warn(
            expected="no_proxy with localhost and 127.0.0.1",
            seen=f"{proxies[0]} is set, and no_proxy has no {' and no '.join(missing)}",
            fix="export no_proxy=localhost,127.0.0.1",
        )
