"""Steps before the server that a rehearsal cannot do as the service's root does, or that fail and stop nothing."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

NEEDS = {"plan/starts-server": "fail", "plan/self-contained": "fail"}
WARNED = {"plan/self-contained": "warn"}
SERVE = '\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
FEW_RIGHTS = "root in the service's image may"

DONE_BY_ROOT: tuple[Case, ...] = tuple(
    case(f"root-{name}", bash(f"set -e\n{step}{SERVE}"))
    for name, step in (
        ("adds-a-user", "groupadd npu\nuseradd -m -u 1000 -g npu worker\nusermod -aG npu worker"),
        ("gives-away", "mkdir -p /data/logs\nchown -R 1000:1000 /data/logs"),
        ("limits", 'echo "* soft nofile 65535" >> /etc/security/limits.conf'),
        ("hosts", "echo 127.0.0.1 node0 >> /etc/hosts"),
        ("links", "ln -s /usr/bin/env /usr/local/bin/an-env"),
        ("links-a-program", "ln -sf /usr/bin/python3 /usr/bin/python"),
        ("finds", "set -o pipefail\nX=$(find /usr/lib -name 'libjemalloc.so.*' 2>/dev/null | head -n 1)"),
        ("asks-pip", "set -o pipefail\nL=$(pip show vllm | grep -i ^location | cut -d' ' -f2)"),
        (
            "asks-python",
            "python3 -c 'import vllm_ascend, torch_npu as t; print(vllm_ascend.__path__[0], t.__file__)'",
        ),
        ("edits-the-program", "sed -i 's/no line has this/x/' \"$(command -v vllm)\""),
    )
)
REFUSED_HERE: tuple[Case, ...] = (
    *(
        case(f"refused-{name}", bash(f"set -e\n{step}{SERVE}"), says=FEW_RIGHTS)
        for name, step in (
            ("system-folder", "touch /usr/lib/extra.conf"),
            ("redirection", "echo 1 > /usr/lib/extra.conf"),
            ("limit", "ulimit -n 1000000"),
        )
    ),
    case("refused-by-dash", sh(f"set -e\necho 1 > /usr/lib/extra.conf{SERVE}"), says=FEW_RIGHTS),
    case("refused-and-on", bash(f"touch /usr/lib/extra.conf\nulimit -n 1000000{SERVE}")),
    case("refused-weights", bash(f'set -e\nsed -i s/a/b/ "$MODEL_PATH/config.json"{SERVE}'), says="below MODEL_PATH is unknown"),
    case("found-nothing", bash(f"set -e\nfind /no/such/folder -name x{SERVE}"), NEEDS, says="find: ‘/no/such/folder’"),
    case("origin", bash("set -e\nF=$(python3 -c 'import importlib.util as u; print(u.find_spec(\"vllm\").origin)')\n"
                        f'cat "$F" >/dev/null{SERVE}'), WARNED, says="the official vllm-ascend image may have that file"),
    case("refused-own-program", bash(f"set -e\nprintf 'echo\\n' > step.sh\n./step.sh{SERVE}"), NEEDS, fix="chmod=+x step.sh"),
    case("patched-vllm", bash('set -e\nP=$(python3 -c "import os, vllm; print(os.path.dirname(vllm.__file__))")\n'
                              f'cp requirements.txt "$P/model_executor/models/mine.py"{SERVE}'), WARNED,
         files={"requirements.txt": ""}, says="the official vllm-ascend image may have that file"),
)  # fmt: skip
WENT_ON: tuple[Case, ...] = (
    case("on-without-environment", bash(f"source /opt/serving/bin/activate{SERVE}"), WARNED, says="/opt/serving/bin/activate"),
    case("on-without-own-environment", bash(f"source .venv/bin/activate{SERVE}"), WARNED, says=".venv/bin/activate"),
    case("on-without-nvidia", bash(f"nvidia-smi{SERVE}"), WARNED, says="an NVIDIA GPU"),
    case("on-without-folder", bash(f"cd /data/serving{SERVE}"), WARNED, says="/data/serving"),
    case("not-on-without-environment", bash(f"set -e\nsource /opt/serving/bin/activate{SERVE}"), NEEDS),
    case("not-on-without-own-file", bash(f"source settings.sh{SERVE}"), {"plan/self-contained": "fail"}, says="settings.sh"),
)  # fmt: skip
STEPS = (*DONE_BY_ROOT, *REFUSED_HERE, *WENT_ON)
