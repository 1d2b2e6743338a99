"""nginx itself accepts and refuses the configurations of the corpus for the reasons that plan/front gives."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from healthcheck.stages.plan.servers.fronts import nginx
from tests.plan.corpus_fronts import RIGHT_CONFIGURATIONS, UNRESOLVED

NGINX = shutil.which("nginx")
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
]


def nginx_output(folder: Path, text: str, *words: str) -> str:
    """What nginx says of a configuration, which listens on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    own = f"pid {folder}/pid;\nerror_log stderr;\n"
    (folder / "nginx.conf").write_text(
        own + text.replace("listen 8000", f"listen 127.0.0.1:{port}")
    )
    command = [str(NGINX), "-t", "-c", *(words or (f"{folder}/nginx.conf",))]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True).stderr


@pytest.mark.parametrize("name", [name for name in RIGHT_CONFIGURATIONS if name != "stream"])
def test_right_configurations_are_accepted(name: str, tmp_path: Path) -> None:
    assert "test is successful" in nginx_output(tmp_path, RIGHT_CONFIGURATIONS[name])


@pytest.mark.parametrize("name", UNRESOLVED)
def test_hosts_that_nothing_defines_are_not_found(name: str, tmp_path: Path) -> None:
    text, says = UNRESOLVED[name]
    said = nginx_output(tmp_path, text)
    assert "test failed" in said
    assert "host not found in upstream" in said
    assert says.split("'")[1] in said


def test_a_relative_path_is_looked_for_below_the_prefix(tmp_path: Path) -> None:
    said = nginx_output(tmp_path, RIGHT_CONFIGURATIONS["two-servers"], "nginx.conf")
    assert 'nginx.conf" failed (2: No such file or directory)' in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("server { listen 8000; }\n", '"server" directive is not allowed here'),
        ("http { server { listen 8000; } }\n", 'no "events" section in configuration'),
    ],
)
def test_what_nginx_does_not_start_with(text: str, message: str, tmp_path: Path) -> None:
    assert message in nginx_output(tmp_path, text)
    files = {"/conf": text}
    assert message in nginx.read(("-c", "/conf"), "/", files).front.problem
