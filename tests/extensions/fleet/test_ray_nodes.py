"""A real cluster of Ray whose nodes lack the kit and have no NPUs: the kit is sent to them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extensions.fleet.test_ray import PYTHON, Cluster, started
from tests.support.fleets import Place, gone
from tests.support.template import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]
WITHOUT_A_CLONE = """
import os, sys
sys.path[:] = [entry for entry in sys.path if not os.path.isfile(os.path.join(entry, "copier.yml"))]
"""
"""As sitecustomize: the kit that the environment has from this clone is not seen."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """`bare` lacks a package of the kit."""
    folder = tempfile.mkdtemp(prefix="nak-ray-", dir="/tmp")  # sockets have short names
    site, bare = (Path(folder, name) for name in ("site", "bare"))
    for place in (site, bare):
        place.mkdir()
    (site / "sitecustomize.py").write_text(WITHOUT_A_CLONE, encoding="utf-8")
    (bare / "tree_sitter.py").write_text("raise ImportError('not here')", encoding="utf-8")
    nodes = [
        *({"NPU": 0, "name": name} for name in ("head", "other")),
        {"NPU": 0, "name": "bare", "env": {"PYTHONPATH": f"{site}:{bare}"}},
    ]
    environment = {
        **os.environ, "RAY_TMPDIR": folder, "PYTHONPATH": str(site), "PATH": "/usr/local/bin:/usr/bin:/bin",
        "RAY_agent_register_timeout_ms": "300000", "RAY_raylet_start_wait_time_s": "300",
    }  # fmt: skip
    try:
        with started(environment, nodes) as cluster:
            yield cluster
        assert gone(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_the_kit_is_sent_and_a_node_that_lacks_a_package_is_left_out(
    cluster: Cluster, place: Place
) -> None:
    command = [
        PYTHON,
        "-m",
        "healthcheck",
        "fleet",
        "runner",
        "--on",
        cluster.address,
        "--own-network",
        "--out",
        "out",
    ]
    done = subprocess.run(
        command, cwd=place.folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False, timeout=900,
    )  # fmt: skip
    found = json.loads((place.out / "machines.json").read_text())
    assert {each["name"]: (each["verdict"], each["takes_jobs"]) for each in found["machines"]} == {
        "head": ("ready", True), "other": ("ready", True),
    }, done.stdout + done.stderr  # fmt: skip
    assert "left out: bare lacks packages that npu-adapter-kit needs: tree-sitter" in done.stderr
    assert done.returncode == 3


def test_jobs_run_with_the_kit_that_was_sent(cluster: Cluster, place: Place) -> None:
    place.jobs(
        {"repository": place.adapter("good")},
        {"repository": place.adapter("bad", {"deploy.sh": "exit 1\r\n"})},
    )
    ran = cluster.run(place)
    assert ran.verdicts() == {"good": "ready", "bad": "not-ready"}, ran.output
    assert {job["attempts"][0]["node"] for job in ran.fleet["jobs"]} <= {"head", "other"}
