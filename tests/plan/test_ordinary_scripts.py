"""Ordinary steps of start scripts, as users in an ordinary container have them judged: never wrongly "not ready"."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.plan.corpus import bash, case
from tests.support.daily import every
from tests.support.plans import write

ROOT = Path(__file__).parents[2]
STARTS = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
SERVES = STARTS.removeprefix("exec ") + " > /tmp/server.log 2>&1 &"
SCRIPTS = {
    "fifo": "mkfifo /tmp/pipe\ncat /tmp/pipe &\nexec > /tmp/pipe 2>&1\n" + STARTS,
    "python-line": "LEN=$(python3 -c 'print(4 * 1024)')\n" + STARTS + ' --max-model-len "$LEN"',
    "curl-loop": f"{SERVES}\nuntil curl -sf localhost:8000/health > /tmp/health; do sleep 1; done\nwait",
    "tee": "mkdir -p logs\n" + STARTS.removeprefix("exec ") + " 2>&1 | tee logs/server.log",
    "trap": "trap 'kill $(jobs -p) 2>/dev/null; rm -f /tmp/pid' EXIT\n" + SERVES + "\necho $! > /tmp/pid\nwait",
    "lock": "exec 9> /tmp/deploy.lock\nflock -n 9 || exit 1\n" + STARTS,
    "awk": "TP=$(awk -F: '/hidden/ {print 1}' \"$MODEL_PATH/config.json\")\n" + STARTS + ' -tp "${TP:-1}"',
    "here-document": "cat > /tmp/check.py <<'E'\nimport json, os\njson.load(open(os.environ['MODEL_PATH'] + '/config.json'))\n"
    "open('/tmp/checked', 'w').write('yes')\nE\npython3 /tmp/check.py\ngrep -q yes /tmp/checked\n" + STARTS,
    "limits": "ulimit -n 65535 || true\nrenice -n 0 -p $$ || true\n" + STARTS,
    "edited-copy": 'cp "$MODEL_PATH/config.json" /tmp/config.json\nsed -i s/qwen3/qwen2/ /tmp/config.json\n' + STARTS,
    "address": "IP=$(hostname -I | awk '{print $1}')\n[ -n \"$IP\" ] || IP=127.0.0.1\necho \"$IP\"\n" + STARTS,
    "mapfile": 'mapfile -t files < <(find "$MODEL_PATH" -name "*.safetensors")\n[ ${#files[@]} -gt 0 ]\n' + STARTS,
    "nohup": 'nohup setsid vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 > /tmp/out.log 2>&1 &\ntail -f /tmp/out.log',
    "multiprocessing": "python3 -c 'import multiprocessing; multiprocessing.Lock()'\n" + STARTS,
    "local-socket": "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"s.sock\"); s.listen()'\n" + STARTS,
    "own-address": "python3 - <<'E'\nimport socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "s.connect(('10.255.255.255', 1))\nprint(s.getsockname()[0])\nE\n" + STARTS,
    "quoted-folder": 'HERE=$(pwd)\nmkdir -p tmp\necho x > "$HERE"/tmp/x\ncat "$HERE/tmp/x" "$(pwd)"/tmp/x\n' + STARTS,
    "patterns": "echo root > names\necho tmp >> names\nawk '/root/ {print}' names\nsed -i '/tmp/d' names\n"
    "grep -q root names\n" + STARTS,
}  # fmt: skip
NEEDS_MORE = {"multiprocessing", "local-socket"}
"""What an ordinary user has no sandbox for without namespaces: memory or a socket of the machine's."""
KILLS = 'vllm serve "$MODEL_PATH" --port 8000 &\nsleep 1\nkill -9 $!\nexec sleep infinity'
FEW_RIGHTS = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all")
LACKING = str(ROOT / "tests/security/lacking.py")


def verified(mode: str, repo: Path, weights: Path) -> dict[str, Any]:
    """The report; in other modes than isolated, the kit runs as a user who cannot become another one."""
    if mode != "isolated" and (os.geteuid() != 0 or not shutil.which("setpriv")):
        pytest.skip("needs root, and setpriv to take its rights")
    lacks = {"isolated": "", "confined": "userns", "unconfined": "userns,landlock"}[mode]
    without = (*FEW_RIGHTS, sys.executable, LACKING, lacks) if lacks else ()
    words = (
        "-I",
        "-m",
        "healthcheck",
        "verify",
        str(repo),
        "--weights",
        str(weights),
        "--until",
        "plan",
    )
    done = subprocess.run(
        (*without, sys.executable, *words, "--quiet", "--unconfined", "--json", "-"),
        env={**os.environ, "LACKING_PACKAGE": str(ROOT)}, cwd="/",
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["provenance"]["sandbox"] == mode
    return report


@pytest.mark.process
@pytest.mark.parametrize("mode", ["isolated", "confined"])
@pytest.mark.parametrize("name", every(4, SCRIPTS))
def test_an_ordinary_script_is_ready_or_open(
    name: str, mode: str, tmp_path: Path, weights: Path
) -> None:
    repo = write(case("script", bash(f"set -e\n{SCRIPTS[name]}")), tmp_path / "r")
    before = set(os.listdir("/tmp"))
    report = verified(mode, repo, weights)
    open_ = mode == "confined" and name in NEEDS_MORE
    assert report["verdict"] == ("inconclusive" if open_ else "ready"), report["headline"]
    assert not [
        each for each in report["checks"] if each["outcome"] == "warn" and each["stage"] == "plan"
    ]
    assert not {each for each in set(os.listdir("/tmp")) - before if each in SCRIPTS[name]}


@pytest.mark.process
@pytest.mark.parametrize("mode", ["isolated", "confined", "unconfined"])
def test_a_recording_names_what_the_script_named(mode: str, tmp_path: Path, weights: Path) -> None:
    step = "echo x > /tmp/chat.jinja\n" + STARTS.replace(
        "8000", "9000 --chat-template '/tmp/chat.jinja'"
    )
    report = verified(mode, write(case("script", bash(step)), tmp_path / "r"), weights)
    port = next(each for each in report["checks"] if each["id"] == "plan/port")
    assert "--chat-template /tmp/chat.jinja (deploy.sh:3)" in port["detail"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("mode", "verdict"),
    [("isolated", "not-ready"), ("confined", "inconclusive"), ("unconfined", "inconclusive")],
)
def test_a_server_that_the_script_kills(
    mode: str, verdict: str, tmp_path: Path, weights: Path
) -> None:
    """Where the sandbox may refuse the signal, a server that lives says nothing."""
    report = verified(mode, write(case("script", bash(KILLS)), tmp_path / "r"), weights)
    started = next(each for each in report["checks"] if each["id"] == "plan/starts-server")
    assert report["verdict"] == verdict, started
    assert verdict == "not-ready" or "deploy.sh:4 needs" in started["detail"]


@pytest.mark.process
@pytest.mark.parametrize("mode", ["isolated", "confined"])
def test_a_comment_about_the_program_excuses_nothing(
    mode: str, tmp_path: Path, weights: Path
) -> None:
    repo = write(
        case("script", bash(f"set -e\n# cat $(which vllm)\ncat no-such-file\n{STARTS}")),
        tmp_path / "r",
    )
    assert verified(mode, repo, weights)["verdict"] == "not-ready"


@pytest.mark.process
@pytest.mark.parametrize("mode", ["confined", "unconfined"])
def test_links_and_folders_named_like_scripts_are_no_trouble(
    mode: str, tmp_path: Path, weights: Path
) -> None:
    files = {
        "lib.py/__init__.py": "",
        "real.sh": "#!/bin/sh\necho /tmp\n",
        "big.sh": "#!/bin/sh\n" + "/tmp " * 20_000,
    }
    repo = write(case("script", bash(f"./link.sh\n{STARTS}"), files=files), tmp_path / "r")
    (repo / "link.sh").symlink_to("real.sh")
    report = verified(mode, repo, weights)
    assert report["verdict"] == "ready", report["headline"]
