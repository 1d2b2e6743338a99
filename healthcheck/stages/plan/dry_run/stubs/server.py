"""The process of a recorded server: prints what a server prints, then stays."""

from __future__ import annotations

import sys

sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan.dry_run.stubs import recorded_servers, shadows

if __name__ == "__main__":
    if sys.argv[2].rpartition("/")[2] == "vllm":
        shadows.record_for_server()
    recorded_servers.act_as_server(sys.argv[2], sys.argv[3:])
