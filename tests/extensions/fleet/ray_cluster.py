"""A cluster of Ray on this machine, for the tests: a process that is the parent of all its raylets.

    PYTHON-WITH-RAY ray_cluster.py '[{"NPU": 8, "kind": "910B4", "name": "one"}, …]'

It prints the address and the process ids of the raylets as JSON, and ends them all when its input ends.
"""

from __future__ import annotations

import json
import select
import sys


def main() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    started = []
    for asked in json.loads(sys.argv[1]):
        node = cluster.add_node(
            num_cpus=4, resources={"NPU": asked["NPU"]} if asked["NPU"] else {},
            labels={"ray.io/accelerator-type": f"Ascend{asked['kind']}"} if asked["NPU"] else {},
            node_name=asked["name"], env_vars={"NPU_NODE": asked["name"], **asked.get("env", {})},
            object_store_memory=80_000_000, include_dashboard=False,
        )  # fmt: skip
        started.append(node.all_processes["raylet"][0].process)
    raylets = {
        asked["name"]: process.pid
        for asked, process in zip(json.loads(sys.argv[1]), started, strict=True)
    }
    print(json.dumps({"address": cluster.address, "raylets": raylets}), flush=True)
    while not select.select([sys.stdin], [], [], 0.5)[0]:
        for process in started:
            process.poll()  # a raylet that was killed must not stay as a zombie: its workers would not see its end
    cluster.shutdown()


if __name__ == "__main__":
    main()
