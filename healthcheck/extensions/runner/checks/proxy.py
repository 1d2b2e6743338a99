"""runner/proxy: requests to this machine bypass the proxy."""

from __future__ import annotations

from healthcheck.core.check import Findings, warn
from healthcheck.extensions.runner.declared import check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import joined, msg


@check(
    "runner/proxy",
    "Requests to this machine bypass the proxy",
    why="A client on the machine that sends 127.0.0.1 through a proxy never reaches the server.",
)
def proxy(facts: RunnerFacts) -> Findings:
    """If http_proxy or all_proxy is set, no_proxy should contain localhost and 127.0.0.1. Otherwise requests of the
    evaluation client, HCCL and Ray may go to the proxy.

    To repair: export no_proxy=localhost,127.0.0.1 (and NO_PROXY the same).

    Example:
    ```sh
    export http_proxy=http://proxy.example:3128
    ```

    Use instead:

    ```sh
    export http_proxy=http://proxy.example:3128
    export no_proxy=localhost,127.0.0.1
    ```
    """
    set_ = facts.host.variables
    proxies = [name for name in set_ if name.lower() in {"http_proxy", "all_proxy"} and set_[name]]
    past = {word.strip().lower() for name in ("no_proxy", "NO_PROXY") for word in set_.get(name, "").split(",")}
    missing = [name for name in ("localhost", "127.0.0.1") if name not in past]
    if proxies and missing and "*" not in past:
        expected, lacking = msg("no_proxy with localhost and 127.0.0.1"), joined(" and no ", missing)
        seen = msg("{proxies} is set, and no_proxy has no {missing}", proxies[0], lacking)
        yield warn(expected=expected, seen=seen, fix=msg("export no_proxy=localhost,127.0.0.1"))
