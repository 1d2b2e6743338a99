"""deploy.sh repositories that are right, in many ways to write, to keep and to surround the one command."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'

WRITTEN: tuple[Case, ...] = (
    case("plain", sh(SERVE)),
    case("no-options", sh('vllm serve "$MODEL_PATH"')),
    case("no-shebang", 'vllm serve "$MODEL_PATH" --port 8000\n'),
    case("no-shebang-bash", f"set -euo pipefail\n[[ -d $MODEL_PATH ]]\n{SERVE}\n"),
    case("env-shebang", f"#!/usr/bin/env bash\n{SERVE}\n"),
    case(
        "options-first",
        sh('vllm serve --port 8000 --trust-remote-code "$MODEL_PATH" --host 0.0.0.0'),
    ),
    case("equals", sh('vllm serve "$MODEL_PATH" --port=8000 --host=0.0.0.0')),
    case("abbreviated", sh('vllm serve "$MODEL_PATH" --por 8000 --tensor-parallel 1')),
    case(
        "underscores",
        sh('vllm serve "$MODEL_PATH" --max_model_len 4096 --served_model_name "$MODEL_PATH"'),
    ),
    case("room-enough", sh('vllm serve "$MODEL_PATH" --max-model-len 2048')),
    case(
        "module",
        sh('python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --port 8000'),
    ),
    case(
        "module-unbuffered",
        sh('exec python -u -m vllm.entrypoints.openai.api_server --model="$MODEL_PATH"'),
    ),
    case(
        "array",
        bash(
            """
            set -euo pipefail
            args=(serve "${MODEL_PATH}" --host 0.0.0.0)
            args+=(--port 8000)
            if [[ -n "${TP:-}" ]]; then args+=(--tensor-parallel-size "$TP"); fi
            exec vllm "${args[@]}"
            """
        ),
    ),
    case(
        "array-lines",
        bash(
            """
            ARGS=(
                --host 0.0.0.0   # everywhere
                --port 8000
                --trust-remote-code
            )
            vllm serve "$MODEL_PATH" "${ARGS[@]}"
            """
        ),
    ),
    case(
        "function",
        sh(
            """
            PORT=${PORT:-8000}
            start() {
                exec vllm serve "$1" --host "${HOST:-0.0.0.0}" --port "$PORT"
            }
            start "$MODEL_PATH"
            """
        ),
    ),
    case(
        "case-with-default",
        sh(
            """
            case "${1:-serve}" in
                serve) exec vllm serve "$MODEL_PATH" --port 8000 ;;
                bench) exec vllm bench serve --model "$MODEL_PATH" ;;
                *) echo "usage: $0 [serve|bench]" >&2; exit 2 ;;
            esac
            """
        ),
    ),
    case(
        "case-start-default",
        bash(
            """
            action=${1:-start}
            case "$action" in
              start)
                echo "starting"
                vllm serve "$MODEL_PATH" --port 8000
                ;;
              stop) pkill -f "vllm serve" ;;
            esac
            """
        ),
    ),
    case("eval", sh('cmd="vllm serve \\"\\$MODEL_PATH\\" --port 8000"\neval "$cmd"')),
    case(
        "set-positional",
        sh('set -- --host 0.0.0.0 --port 8000\nexec vllm serve "$MODEL_PATH" "$@"'),
    ),
    case("composed-port", sh('BASE=80\nvllm serve "$MODEL_PATH" --port "${BASE}00"')),
    case("arithmetic-port", sh('vllm serve "$MODEL_PATH" --port $((7000 + 1000))')),
    case(
        "continued",
        sh(
            """
            vllm serve "$MODEL_PATH" \\
                --host 0.0.0.0 \\
                --port 8000 \\
                --max-model-len 8192 \\
                --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY"}'
            """
        ),
    ),
    case(
        "strict",
        bash(
            'set -euo pipefail\ncd "$(dirname "$0")"\nexec vllm serve "${MODEL_PATH:?}" --port 8000'
        ),
    ),
    case(
        "strict-bash-source", bash('cd "$(dirname "${BASH_SOURCE[0]}")"\nvllm serve "$MODEL_PATH"')
    ),
    case(
        "pip-first",
        sh("set -e\npip install -r requirements.txt\n" + SERVE),
        files={"requirements.txt": "einops\n"},
    ),
    case(
        "pip-module",
        sh("python3 -m pip install --no-cache-dir -r requirements.txt || exit 1\n" + SERVE),
        files={"requirements.txt": "einops==0.8.0\n"},
    ),
    case(
        "cann-guarded",
        bash(
            """
            set -e
            if [ -f /usr/local/Ascend/ascend-toolkit/set_env.sh ]; then
                source /usr/local/Ascend/ascend-toolkit/set_env.sh
            fi
            [ -f /usr/local/Ascend/nnal/atb/set_env.sh ] && source /usr/local/Ascend/nnal/atb/set_env.sh
            export ASCEND_RT_VISIBLE_DEVICES=0 VLLM_USE_V1=1
            vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000
            """
        ),
    ),
    case(
        "cann-under-u",
        bash(
            """
            set -euo pipefail
            set +u
            source /usr/local/Ascend/ascend-toolkit/set_env.sh
            source /usr/local/Ascend/nnal/atb/set_env.sh
            set -u
            vllm serve "$MODEL_PATH"
            """
        ),
    ),
    case(
        "npu-count",
        sh('n=$(npu-smi info -l | grep -c "NPU ID")\nexec vllm serve "$MODEL_PATH" -tp "$n"'),
    ),
)

KEPT: tuple[Case, ...] = (
    case("background-wait", sh('vllm serve "$MODEL_PATH" --port 8000 &\nwait')),
    case(
        "background-wait-pid",
        sh('vllm serve "$MODEL_PATH" &\npid=$!\necho $pid > server.pid\nwait "$pid"'),
    ),
    case("nohup-wait", sh('nohup vllm serve "$MODEL_PATH" > server.log 2>&1 &\nwait $!')),
    case(
        "trap",
        sh(
            """
            trap 'kill $server; exit 143' TERM INT
            vllm serve "$MODEL_PATH" --port 8000 &
            server=$!
            wait $server
            """
        ),
    ),
    case(
        "tee", bash('set -o pipefail\nvllm serve "$MODEL_PATH" --port 8000 2>&1 | tee server.log')
    ),
    case("tee-sh", sh('vllm serve "$MODEL_PATH" --port 8000 2>&1 | tee -a server.log')),
    case("log-file", sh('mkdir -p logs\nvllm serve "$MODEL_PATH" > logs/server.log 2>&1')),
    case(
        "health-then-wait",
        bash(
            """
            vllm serve "$MODEL_PATH" --port 8000 &
            PID=$!
            for i in $(seq 1 60); do
                if curl -sf http://127.0.0.1:8000/health > /dev/null; then
                    echo "ready after $i"; break
                fi
                sleep 5
            done
            wait $PID
            """
        ),
    ),
    case(
        "log-poll-then-tail",
        sh(
            """
            vllm serve "$MODEL_PATH" --port 8000 > vllm.log 2>&1 &
            until grep -q "Application startup complete" vllm.log; do sleep 2; done
            exec tail -f vllm.log
            """
        ),
    ),
    case(
        "supervised",
        sh(
            """
            vllm serve "$MODEL_PATH" --port 8000 &
            pid=$!
            while kill -0 "$pid" 2>/dev/null; do sleep 30; done
            exit 1
            """
        ),
    ),
    case("infinity", sh('vllm serve "$MODEL_PATH" --port 8000 &\nsleep infinity')),
)
