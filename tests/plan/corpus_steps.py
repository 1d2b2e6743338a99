"""Steps before the server that a dry run cannot do as the service's root does, or that fail and stop nothing."""

from __future__ import annotations

from tests.plan.corpus import UNKNOWN, Case, bash, case, sh

NEEDS = {"plan/starts-server": "fail", "plan/self-contained": "fail"}
WARNED = {"plan/self-contained": "warn"}
NEVER = {"plan/starts-server": "fail"}
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
        (
            "finds",
            "set -o pipefail\nX=$(find /usr/lib -name 'libjemalloc.so.*' 2>/dev/null | head -n 1)",
        ),
        ("upgrades-what-is-free", "pip install -qU tabulate"),
        ("asks-pip", "set -o pipefail\nL=$(pip show vllm | grep -i ^location | cut -d' ' -f2)"),
        (
            "asks-python",
            "python3 -c 'import vllm_ascend, torch_npu as t; print(vllm_ascend.__path__[0], t.__file__)'",
        ),
        (
            "asks-for-an-origin",
            'F=$(python3 -c "import importlib.util as u; print(u.find_spec(\'vllm\').origin)")\nls -l "$F"',
        ),
        (
            "patches-vllm",
            (
                'P=$(python3 -c "import os, vllm; print(os.path.dirname(vllm.__file__))")\n'
                'cp deploy.sh "$P/model_executor/models/mine.py"\n'
                "python3 -c 'from vllm.model_executor.models.mine import Mine; print(Mine)'"
            ),
        ),
        (
            "patches-beside-pip",
            "P=$(pip show vllm_ascend | sed -n 's/^Location: //p')\ncp deploy.sh \"$P/vllm_ascend/ops/mine.py\"",
        ),
        (
            "patches-the-site",
            (
                'for P in $(python3 -c "import site, sysconfig as s; '
                "print(*site.getsitepackages(), s.get_path('purelib'))\"); do\n"
                'cp deploy.sh "$P/transformers/mine.py"\nmkdir "$P/mine"\nrmdir "$P/mine"\ndone'
            ),
        ),
        ("edits-the-program", "sed -i 's/no line has this/x/' \"$(command -v vllm)\""),
        (
            "asks-the-program-for-its-python",
            "P=$(head -n 1 \"$(command -v vllm)\" | cut -c 3-)\n$P -c 'import vllm; print(vllm.__version__)'\nvllm --version",
        ),
        (
            "adds-to-the-program",
            (
                "printf 'answer = 42\\n' > lanes.py\nexport PYTHONPATH=$PWD:${PYTHONPATH:-}\n"
                "sed -i '/import main$/a import lanes' \"$(which vllm)\""
            ),
        ),
    )
)
REFUSED_HERE: tuple[Case, ...] = (
    *(
        case(f"refused-{name}", bash(f"set -e\n{step}{SERVE}"), UNKNOWN, says=FEW_RIGHTS)
        for name, step in (
            ("system-folder", "touch /usr/lib/extra.conf"),
            ("redirection", "echo 1 > /usr/lib/extra.conf"),
            ("limit", "ulimit -n 1000000"),
        )
    ),
    case("refused-by-dash", sh(f"set -e\necho 1 > /usr/lib/extra.conf{SERVE}"), UNKNOWN, says=FEW_RIGHTS),
    case("refused-and-on", bash(f"touch /usr/lib/extra.conf\nulimit -n 1000000{SERVE}")),
    case("refused-weights", bash(f'set -e\nsed -i s/a/b/ "$MODEL_PATH/config.json"{SERVE}'), UNKNOWN, says="below MODEL_PATH is unknown"),
    case("found-nothing", bash(f"set -e\nfind /no/such/folder -name x{SERVE}"), NEEDS, says="find: ‘/no/such/folder’"),
    case("reads-a-module", bash("set -e\nF=$(python3 -c 'import importlib.util as u; print(u.find_spec(\"vllm\").submodule_search_locations[0])')\n"
                                f'cat "$F/envs.py" >/dev/null{SERVE}'), {**UNKNOWN, **WARNED}, says="the official vllm-ascend image may have that file"),
    case("adds-what-is-not-there", bash(f"set -e\nsed -i '/import main$/a import lanes' \"$(which vllm)\"{SERVE}"), NEEDS, says="lanes"),
    case("asks-a-stub-too-much", bash(f"set -e\npython3 -c 'import vllm; print(vllm.__build_number__)'{SERVE}"), UNKNOWN,
         says='File "<string>", line 1, in <module> / AttributeError: __build_number__; a Python program depends on what'),
    case("takes-a-stub-for-a-folder", bash(f"set -e\npython3 -c 'import os, transformers as t; print(os.path.join(t.utils.PLACE, str(1)))'{SERVE}")),
    case("looks-into-a-module", bash("set -e\nF=$(python3 -c 'import vllm; print(vllm.__file__)')\n"
                                     f'grep -q rope "$F"{SERVE}'), UNKNOWN, says="may have that file, and its folders are empty in the dry run"),
    case("own-traceback", bash(f"set -e\npython3 -c 'raise ValueError(7)'{SERVE}"), {"plan/starts-server": "fail"}, says="ValueError: 7"),
    case("refused-own-program", bash(f"set -e\nprintf 'echo\\n' > step.sh\n./step.sh{SERVE}"), NEEDS, fix="chmod=+x step.sh"),
)  # fmt: skip
WENT_ON: tuple[Case, ...] = (
    case("on-without-environment", bash(f"source /opt/serving/bin/activate{SERVE}"), WARNED, says="/opt/serving/bin/activate"),
    case("on-without-own-environment", bash(f"source .venv/bin/activate{SERVE}"), WARNED, says=".venv/bin/activate"),
    case("source-under-sh", sh(f"set -e\nsource ./env.sh{SERVE}"), {**WARNED, **NEVER}, files={"env.sh": ""},
         fix='#!/bin/bash, and below it: [ -n "${BASH_VERSION:-}" ]'),
    case("on-without-nvidia", bash(f"nvidia-smi{SERVE}"), WARNED, says="an NVIDIA GPU"),
    case("on-without-folder", bash(f"cd /data/serving{SERVE}"), WARNED, says="/data/serving"),
    case("not-on-without-environment", bash(f"set -e\nsource /opt/serving/bin/activate{SERVE}"), NEEDS),
    case("not-on-without-own-file", bash(f"source settings.sh{SERVE}"), {"plan/self-contained": "fail"}, says="settings.sh"),
)  # fmt: skip
LAUNCH = 'vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
PROCESSOR = "class Bias: ...\n"
CODE: tuple[Case, ...] = (
    *(
        case(f"code-{name}", sh(f"{LAUNCH} {option}"), {"plan/self-contained": "fail"}, says=said)
        for name, option, said in (
            ("worker", "--worker-cls lanes.worker.LaneWorker", "no module lanes is in the repository"),
            ("worker-extension", "--worker-extension-cls=lanes.Extension", "--worker-extension-cls lanes.Extension"),
            ("processor", "--logits-processors bias:Bias", "no module bias"),
            ("scheduler", "--scheduler-cls lanes.sched.LaneScheduler", "lanes.sched.LaneScheduler"),
            ("processors", "--logits-processors vllm.v1.sample.logits_processor:Min lanes.bias:Bias", "lanes.bias:Bias"),
            ("executor", "--distributed-executor-backend lanes.Executor", "lanes.Executor"),
            ("connector", """--kv-transfer-config '{"kv_connector": "L", "kv_role": "kv_both", "kv_connector_module_path": "lanes.kv"}'""", "lanes.kv"),
        )
    ),
    case("code-in-a-file", sh(f"{LAUNCH} --config serve.yaml"), {"plan/self-contained": "fail"},
         files={"serve.yaml": "scheduler-cls: lanes.sched.LaneScheduler\n"}, says="no module lanes"),
    *(
        case(f"package-{name}", sh(f"{LAUNCH} {options}"), {"plan/self-contained": "fail"}, says="does not have it", fix=package)
        for name, options, package in (
            ("fastsafetensors", "--load-format fastsafetensors", "name fastsafetensors in requirements.txt"),
            ("streamer", "--load-format runai_streamer_sharded", "name runai_model_streamer in"),
            ("nixl", """--kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'""", "nixl"),
        )
    ),
    case("package-installed", sh(f"pip install fastsafetensors\n{LAUNCH} --load-format fastsafetensors")),
    case("package-of-the-image", sh(f"{LAUNCH} --load-format safetensors")),
    case("code-perhaps", sh(f"pip install lane-tools\n{LAUNCH} --worker-cls lanes.Worker"), WARNED, says="is unknown"),
    case("code-beside", sh(f"{LAUNCH} --logits-processors bias:Bias"), WARNED, files={"bias.py": PROCESSOR}),
    case("code-in-a-package-beside", sh(f"{LAUNCH} --logits-processors lanes.bias:Bias"), WARNED,
         files={"lanes/bias.py": PROCESSOR}, fix="export PYTHONPATH"),
    case("code-on-the-path", sh(f'export PYTHONPATH="$PWD:$PYTHONPATH"\n{LAUNCH} --logits-processors lanes.bias:Bias'),
         files={"lanes/bias.py": PROCESSOR}),
    case("code-of-a-module", sh('python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" '
                                '--worker-cls lanes.Worker'), files={"lanes.py": PROCESSOR}),
    case("code-installed", sh(f"pip install ./lib\n{LAUNCH} --worker-cls lanes.Worker"),
         files={"lib/pyproject.toml": "[project]\nname = 'x'\nversion = '1'\n", "lib/src/lanes.py": PROCESSOR}),
    case("code-required", sh(f"pip install -r requirements.txt\n{LAUNCH} --worker-cls lanes.Worker"),
         files={"requirements.txt": "lanes==1.0\n"}),
    case("code-required-in-turn", sh(f"pip install -rreqs/all.txt\n{LAUNCH} --worker-cls lanes.Worker"), WARNED,
         files={"reqs/all.txt": "-r more.txt\n", "reqs/more.txt": "lanes==1.0\n"}, says="is unknown"),
    case("code-of-the-image", sh(f"{LAUNCH} --worker-cls vllm_ascend.worker.worker.NPUWorker --distributed-executor-backend mp")),
)  # fmt: skip
SGLANG = 'python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000'
FOREIGN: tuple[Case, ...] = (
    case("engine-sglang", sh(SGLANG), WARNED, says="the options of sglang were not checked"),
    case("engine-sglang-installed", sh(f"pip install 'sglang[all]==0.5.4'\n{SGLANG}")),
    case("engine-sglang-required", sh(SGLANG), files={"requirements.txt": "sglang==0.5.4\n"}),
    case("engine-by-uv", sh('exec uv run vllm serve "$MODEL_PATH" --port 8000'), WARNED, says="uv is started and nothing installs it"),
    case("engine-by-uvx", sh('exec uvx --from vllm vllm serve "$MODEL_PATH" --port 8000'), WARNED, says="uvx is started"),
    case("engine-installed-by-uv", sh('uv pip install --system einops\nexec vllm serve "$MODEL_PATH" --port 8000'), WARNED, says="uv is started"),
    case("engine-beside-an-installed-uv", sh(f"pip install uv\nuv --version\n{SGLANG}"), WARNED, says="sglang is started"),
    case("engine-by-uv-where-it-is", sh('if command -v uv >/dev/null; then uv pip install --system einops; fi\nexec vllm serve "$MODEL_PATH"')),
    case("engine-by-an-installed-uv", sh('pip install uv\nexec uv run vllm serve "$MODEL_PATH" --port 8000')),
    case("engine-by-a-fetched-uv", sh('curl -sSfL https://example.org/uv/install.sh | sh\nexec uv run vllm serve "$MODEL_PATH"'), WARNED),
    case("engine-lmdeploy", sh('lmdeploy serve api_server "$MODEL_PATH" --server-port 8000'), WARNED,
         says="that the service uses this image is inferred"),
    case("engine-llama", sh('llama-server --model "$MODEL_PATH/model.gguf" --alias "$MODEL_PATH" --host 0.0.0.0 --port 8000'),
         WARNED, fix="llama-cpp-python"),
    case("engine-llama-built", sh('git clone https://example.org/llama.cpp\nllama-server --model "$MODEL_PATH/model.gguf" '
                                  '--alias "$MODEL_PATH" --host 0.0.0.0 --port 8000'), WARNED, says="git clone"),
    case("engine-of-another-kind", sh("xinference-local --host 0.0.0.0 --port 8000"),
         {**WARNED, "plan/chat-api": "unsettled", "plan/model-path": "warn"}, says="xinference-local is started and nothing installs it",
         fix="name xinference in requirements.txt"),
    case("engine-llama-folder", sh('llama-server --model "$MODEL_PATH" --alias "$MODEL_PATH" --host 0.0.0.0 --port 8000'),
         {**WARNED, "plan/model-path": "fail"}, says="the folder of the weights"),
)  # fmt: skip
IN_A_VARIABLE: tuple[Case, ...] = (
    case("command-in-a-variable", bash('CMD="vllm serve $MODEL_PATH --port 8000"\neval $CMD'), {"plan/model-path": "warn"},
         fix="as an array"),
    case("command-in-an-array", bash('cmd=(vllm serve "$MODEL_PATH" --port 8000)\n"${cmd[@]}"')),
    case("command-written-out", sh('vllm serve "$MODEL_PATH" --port 8000')),
)  # fmt: skip
MESSAGES: tuple[Case, ...] = (
    case("words-error-line", bash("echo starting >&2\necho 'ERROR: no licence' >&2\necho 'Run: tools/licence.sh' >&2\n"
                                  f"exit 1{SERVE}"), NEVER, fix="correct the step that says “ERROR: no licence”"),
    case("words-before-the-last-three", bash("echo 'FATAL: no licence'\nseq 5\nexit 1" + SERVE), NEVER,
         says="it said: FATAL: no licence"),
    case("words-in-colour", bash(f"printf '\\033[31mFATAL: no licence\\033[0m\\n' >&2\nexit 1{SERVE}"), NEVER,
         fix="correct the step that says “FATAL: no licence”"),
    case("words-other-weights", bash(f'D=/data/w\n[ -d $D ] || {{ echo "Error: model not found in $D"; exit 1; }}{SERVE}'),
         NEVER, fix='the weights are in "$MODEL_PATH" alone', says="deploy.sh:3"),
    case("overwritten", bash('MODEL_PATH=${BASE_MODEL:-}\n[ -n "$MODEL_PATH" ] || { echo "BASE_MODEL is required"; exit 1; }'
                             + SERVE), NEVER, fix="remove line 2 of deploy.sh"),
    case("overwritten-by-a-folder", sh('MODEL_PATH="/data/w"\nif [ ! -d "$MODEL_PATH" ]; then\n    exit 1\nfi' + SERVE),
         NEVER, fix="remove line 2 of deploy.sh"),
    case("not-overwritten", sh('MODEL_PATH=${MODEL_PATH:-/data/w}\nif [ ! -f "$MODEL_PATH" ]; then\n'
                               '    echo "MODEL_PATH is no file"\n    exit 1\nfi' + SERVE), NEVER,
         fix="the test that refuses MODEL_PATH", says="deploy.sh:3"),
    case("usage-with-the-variable", bash('ROLE="${1:-}"\nif [[ "$ROLE" != all ]]; then\n    echo "Usage: MODEL_PATH=DIR $0 all" >&2'
                                         f"\n    exit 2\nfi{SERVE}"), NEEDS, says="seems to need arguments"),
    case("all-arguments", bash("if ! printf '%s\\n' \"$@\" | grep -q tensor; then\n    echo 'ERROR: no size' >&2\n    exit 2\nfi"
                               + SERVE), NEEDS, says="seems to need arguments"),
    case("an-option-with-a-default", bash('NAME=${NAME:-base}\nwhile [[ $# -gt 0 ]]; do\n  case "$1" in\n    --name) NAME="$2"; shift 2 ;;\n'
                                          '  esac\ndone\nif [[ ! -d "store/$NAME" ]]; then\n    exit 1\nfi' + SERVE), NEVER,
         says="deploy.sh:8"),
    case("an-option-without-a-default", bash('NAME=""\nwhile [[ $# -gt 0 ]]; do\n  case "$1" in\n    --name) NAME="$2"; shift 2 ;;\n'
                                             '  esac\ndone\nif [[ -z "$NAME" ]]; then\n    exit 1\nfi' + SERVE), NEEDS,
         says="seems to need arguments"),
    case("words-of-a-function", bash('die() { echo "[ERROR] $*" >&2; exit 1; }\n[ -f licence.txt ] || die "no licence"' + SERVE),
         NEVER, fix="correct the step that says “[ERROR] no licence”"),
    case("blanks-around-an-equals-sign", bash(f"set -e\nTP = 1{SERVE}"), NEEDS,
         fix="take the blanks around = out: “TP = 1” runs a program TP"),
    case("blank-before-an-equals-sign", sh(f'NAME ="x"{SERVE}'), WARNED, fix="take the blanks around = out"),
    case("asks-with-a-prompt", bash(f'read -p "Start? " -r\n[[ $REPLY == y ]] || exit 1{SERVE}'), NEEDS, says="input from a terminal",
         fix="remove what asks (read, select)"),
    case("demands-a-token", bash(f': "${{HF_TOKEN:?Set HF_TOKEN to a token}}"{SERVE}'), NEEDS, fix="every use of HF_TOKEN",
         says="Set HF_TOKEN to a token"),
    case("demands-a-model", bash('MODEL=${MODEL:?name a folder}\nexec vllm serve "$MODEL" --port 8000'), NEEDS,
         fix="${MODEL:-$MODEL_PATH}"),
    case("demands-a-second-argument", bash('set -u\nvllm serve "$MODEL_PATH" --port $2'), NEEDS, fix="${2:-8000}"),
    case("no-folder-for-the-log", bash('vllm serve "$MODEL_PATH" --port 8000 > logs/server.log 2>&1'), NEEDS, fix="mkdir -p logs"),
    case("a-template-elsewhere", sh('vllm serve "$MODEL_PATH" --chat-template /configs/chat.jinja'),
         {"plan/self-contained": "fail"}, fix="copy /configs/chat.jinja into the repository"),
    case("ends-when-ready", bash('vllm serve "$MODEL_PATH" --port 8000 &\nfor i in $(seq 9); do\n    if curl -sf localhost:8000/health; then\n'
                                 '        exit 0\n    fi\n    sleep 1\ndone\nexit 1'), {"plan/foreground": "unsettled"}, fix="(line 5)"),
    case("waits-when-ready", bash('vllm serve "$MODEL_PATH" --port 8000 &\nfor i in $(seq 900); do\n    if curl -sf localhost:8000/health; then\n'
                                  '        wait\n    fi\n    sleep 1\ndone\nexit 1')),
    case("download-in-a-heredoc", bash("cat <<'TEXT'\nuse python3 x.py\nTEXT\npython3 - <<'PY'\nimport os\n"
                                       "from huggingface_hub import snapshot_download\nsnapshot_download(repo_id='a/b')\nPY" + SERVE),
         {"plan/self-contained": "fail"}, says="by a call in Python (snapshot_download …) [deploy.sh:8]"),
)  # fmt: skip
STEPS = (*DONE_BY_ROOT, *REFUSED_HERE, *WENT_ON, *CODE, *FOREIGN, *IN_A_VARIABLE, *MESSAGES)
