"""The generated smoke test against a server: a simulated one that works, and ones with a fault each."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from healthcheck import cli
from tests.support.template import KIT, template_in

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smoke")
    template = template_in(folder / "template")
    assert (
        cli.main(
            [
                "new",
                str(folder / "adapter"),
                "--template",
                str(template),
                "--defaults",
                "--task",
                "any-to-any",
                "--data",
                "form=planned",
                "--data",
                f"kit={KIT}",
            ]
        )
        == 0
    )
    return folder / "adapter"


@pytest.fixture
def smoke(repository):
    servers = []

    def run(*faults):
        command = [
            sys.executable,
            "-m",
            "healthcheck",
            "simulate",
            "--port",
            "0",
            "--model",
            "/w",
            "--tokens-per-second",
            "0",
        ]
        for fault in faults:
            command += ["--fault", fault]
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        servers.append(server)
        address = next(word for word in server.stdout.readline().split() if word.startswith("http"))
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST", "SMOKE"))
        }
        environment |= {"SMOKE_SERVER": address, "MODEL_PATH": "/w"}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=repository, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip

    yield run
    for server in servers:
        server.terminate()
        server.communicate()


def test_a_server_that_works(smoke):
    done = smoke()
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault", ["no-done", "no-finish", "says-nothing", "refuses-images", "models-500", "other-name"]
)
def test_a_server_that_does_not(smoke, fault):
    done = smoke(fault)
    assert done.returncode == 1, done.stdout
