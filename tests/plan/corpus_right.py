"""deploy.sh repositories that are right, in many idioms. What is named is a warning that each is to get."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
UNDER_SH = {"plan/starts-server": "warn"}
"""Right under bash, which its first line names; under sh it does not come to its server."""
OWN_SERVER = {"plan/served-name": "warn"}
"""A server of one's own: under which names it answers is found out when it is launched."""

RIGHT: tuple[Case, ...] = (
    case("plain", sh(SERVE)),
    case("no-options", sh('vllm serve "$MODEL_PATH"')),
    case("no-shebang", 'vllm serve "$MODEL_PATH" --port 8000\n'),
    case("env-shebang", f"#!/usr/bin/env bash\n{SERVE}\n"),
    case("options-first", sh('vllm serve --port 8000 --trust-remote-code "$MODEL_PATH" --host 0.0.0.0')),
    case("equals", sh('vllm serve "$MODEL_PATH" --port=8000 --host=0.0.0.0')),
    case("abbreviated", sh('vllm serve "$MODEL_PATH" --por 8000 --tensor-parallel 1')),
    case("underscores", sh('vllm serve "$MODEL_PATH" --max_model_len 4096 --served_model_name "$MODEL_PATH"')),
    case("module", sh('python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --port 8000')),
    case("module-unbuffered", sh('exec python -u -m vllm.entrypoints.openai.api_server --model="$MODEL_PATH"')),
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
        UNDER_SH,
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
        UNDER_SH,
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
    case("set-positional", sh('set -- --host 0.0.0.0 --port 8000\nexec vllm serve "$MODEL_PATH" "$@"')),
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
        bash('set -euo pipefail\ncd "$(dirname "$0")"\nexec vllm serve "${MODEL_PATH:?}" --port 8000'),
        UNDER_SH,
    ),
    case("strict-bash-source", bash('cd "$(dirname "${BASH_SOURCE[0]}")"\nvllm serve "$MODEL_PATH"')),
    case(
        "pip-first", sh("set -e\npip install -r requirements.txt\n" + SERVE), files={"requirements.txt": "einops\n"}
    ),
    case("pip-module", sh("python3 -m pip install --no-cache-dir -r requirements.txt || exit 1\n" + SERVE)),
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
        UNDER_SH,
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
        UNDER_SH,
    ),
    case("npu-count", sh('n=$(npu-smi info -l | grep -c "NPU ID")\nexec vllm serve "$MODEL_PATH" -tp "$n"')),
    case("background-wait", sh('vllm serve "$MODEL_PATH" --port 8000 &\nwait')),
    case("background-wait-pid", sh('vllm serve "$MODEL_PATH" &\npid=$!\necho $pid > server.pid\nwait "$pid"')),
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
    case("tee", bash('set -o pipefail\nvllm serve "$MODEL_PATH" --port 8000 2>&1 | tee server.log'), UNDER_SH),
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
    case("restarting", sh('while true; do\n  vllm serve "$MODEL_PATH" --port 8000\n  sleep 1\ndone')),
    case("infinity", sh('vllm serve "$MODEL_PATH" --port 8000 &\nsleep infinity')),
    case(
        "helper",
        sh('. ./scripts/common.sh\nserve "$MODEL_PATH"'),
        files={"scripts/common.sh": 'serve() { exec vllm serve "$1" --port 8000; }\n'},
    ),
    case("helper-script", sh("exec sh scripts/run.sh"), files={"scripts/run.sh": 'vllm serve "$MODEL_PATH"\n'}),
    case(
        "env-file",
        sh('set -a\n. ./settings.env\nset +a\nexec vllm serve "$MODEL_PATH" --port "$SERVE_PORT"'),
        files={"settings.env": "SERVE_PORT=8000\nVLLM_WORKER_MULTIPROC_METHOD=spawn\n"},
    ),
    case(
        "heredoc-config",
        sh(
            """
            cat > /tmp/config.yaml <<YAML
            host: 0.0.0.0
            port: 8000
            trust-remote-code: true
            YAML
            exec vllm serve "$MODEL_PATH" --config /tmp/config.yaml
            """
        ),
    ),
    case(
        "config-file",
        sh('exec vllm serve "$MODEL_PATH" --config config.yaml'),
        files={"config.yaml": "port: 8000\nmax_model_len: 4096\n"},
    ),
    case("absolute-vllm", sh('exec /usr/local/bin/vllm serve "$MODEL_PATH" --port 8000')),
    case(
        "absolute-python", sh('exec /usr/bin/python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH"')
    ),
    case("which", sh('VLLM=$(command -v vllm)\nexec "$VLLM" serve "$MODEL_PATH"')),
    case("python-which", sh('exec python3 "$(which vllm)" serve "$MODEL_PATH" --port 8000')),
    case(
        "venv", sh('python3 -m venv .venv\n. .venv/bin/activate\npip install einops\nexec vllm serve "$MODEL_PATH"')
    ),
    case("optional-venv", sh(f"[ -f venv/bin/activate ] && . venv/bin/activate\n{SERVE}")),
    case("optional-conda", sh(f"command -v conda >/dev/null 2>&1 && conda activate llm\n{SERVE}")),
    case("link", sh('ln -s "$MODEL_PATH" model\nexec vllm serve model --served-model-name "$MODEL_PATH"')),
    case("two-names", sh('vllm serve "$MODEL_PATH" --served-model-name mymodel "$MODEL_PATH" --port 8000')),
    case("renamed-variable", sh('MODEL_DIR="${MODEL_PATH}"\nexec vllm serve "$MODEL_DIR" --port 8000')),
    case("default-path", sh('MODEL=${MODEL_PATH:-/data/models/mine}\nexec vllm serve "$MODEL" --port 8000')),
    case("checks-config", sh('[ -f "$MODEL_PATH/config.json" ] || { echo "no weights" >&2; exit 1; }\n' + SERVE)),
    case(
        "reads-config",
        sh(
            """
            LEN=$(python3 -c 'import json, os; print(json.load(open(os.environ["MODEL_PATH"] + "/config.json"))["max_position_embeddings"])')
            exec vllm serve "$MODEL_PATH" --max-model-len "$LEN"
            """
        ),
    ),
    case("ray-local", sh('ray start --head --num-cpus 8\nexec vllm serve "$MODEL_PATH" --port 8000')),
    case("numactl", sh('exec numactl --cpunodebind=0 --membind=0 vllm serve "$MODEL_PATH"')),
    case("env-prefix", sh('exec env OMP_NUM_THREADS=1 vllm serve "$MODEL_PATH"')),
    case("subshell", sh('(cd / && exec vllm serve "$MODEL_PATH" --port 8000)')),
    case("fallback", sh('vllm serve "$MODEL_PATH" --port 8000 || exit 1')),
    case("copy", sh('cp -r "$MODEL_PATH" /tmp/m && exec vllm serve /tmp/m --served-model-name "$MODEL_PATH"')),
    case(
        "links-and-a-template",
        sh(
            'mkdir m; ln -s "$MODEL_PATH"/* m/; cp t.jinja m/\nexec vllm serve "$PWD/m" --served-model-name "$MODEL_PATH"'
        ),
        files={"t.jinja": "{{ messages }}"},
    ),
    case(
        "folders-of-the-machine",
        sh('mkdir -p /data/cache /var/log/a\nexec vllm serve "$MODEL_PATH" >/var/log/a/log'),
    ),
    case(
        "sudo-for-others",
        sh('[ "$(id -u)" -ne 0 ] && SUDO=sudo\n$SUDO apt-get update\nexec vllm serve "$MODEL_PATH"'),
    ),
    case("shell-in-shell", sh("exec bash -lc 'vllm serve \"$MODEL_PATH\" --port 8000'")),
    case("xargs", sh("printf '%s\\0' serve \"$MODEL_PATH\" --port 8000 | xargs -0 vllm")),
    case("empty-environment", sh('exec env -i MODEL_PATH="$MODEL_PATH" vllm serve "$MODEL_PATH"')),
    case("make", sh("make serve"), files={"Makefile": 'serve:\n\tvllm serve "$$MODEL_PATH" --port 8000\n'}),
    case("getopts", sh('P=8000\nwhile getopts p: o; do P=$OPTARG; done\nvllm serve "$MODEL_PATH" --port $P')),
    case("clears-the-port", sh('kill -9 $(lsof -t -i:8000) 2>/dev/null\npkill -f vllm\nvllm serve "$MODEL_PATH"')),
    case("json-with-a-port", sh('vllm serve "$MODEL_PATH" --additional-config \'{"port": 9999}\' --port 8000')),
    case(
        "data-parallel",
        sh('vllm serve "$MODEL_PATH" -dp 2 &\nvllm serve "$MODEL_PATH" --headless -dp 2 -dpr 1 &\nwait'),
    ),
    case(
        "mindie",
        sh(
            """
            cd /usr/local/Ascend/mindie/latest/mindie-service
            sed -i 's/"port" : 1025/"port" : 8000/; s/"ipAddress" : "127.0.0.1"/"ipAddress" : "0.0.0.0"/' conf/config.json
            sed -i 's/"httpsEnabled" : true/"httpsEnabled" : false/' conf/config.json
            sed -i "s#\\"modelWeightPath\\" : .*#\\"modelWeightPath\\" : \\"$MODEL_PATH\\",#" conf/config.json
            sed -i "s#\\"modelName\\" : .*#\\"modelName\\" : \\"$MODEL_PATH\\",#" conf/config.json
            exec ./bin/mindieservice_daemon
            """
        ),
    ),
    case("sglang", sh('python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000')),
    case("lmdeploy", sh('lmdeploy serve api_server "$MODEL_PATH" --server-name 0.0.0.0 --server-port 8000')),
    case(
        "llama.cpp",
        sh('llama-server -m "$MODEL_PATH/model.gguf" --alias "$MODEL_PATH" --host 0.0.0.0 --port 8000'),
    ),
)

PYTHON: tuple[Case, ...] = (
    case(
        "python-requests-poll",
        sh(
            """
            vllm serve "$MODEL_PATH" --port 8000 &
            P=$!
            python3 wait.py || { kill $P; exit 1; }
            wait $P
            """
        ),
        files={
            "wait.py": """
            import sys, time
            import requests
            for _ in range(100):
                try:
                    if requests.get("http://127.0.0.1:8000/health", timeout=3).status_code == 200:
                        sys.exit(0)
                except requests.exceptions.RequestException:
                    time.sleep(5)
            sys.exit(1)
            """
        },
    ),
    case(
        "python-yaml",
        sh("python3 run.py"),
        files={
            "serve.yaml": "port: 8000\nflags: [--trust-remote-code]\n",
            "run.py": """
            import os, yaml
            c = yaml.safe_load(open("serve.yaml"))
            os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", str(c["port"]), *c["flags"]])
            """,
        },
    ),
    case(
        "python-click",
        sh("exec python3 run.py --host 0.0.0.0"),
        files={
            "run.py": """
            import os, click
            @click.command()
            @click.option("--port", default=8000, show_default=True)
            @click.option("--host")
            def main(port, host):
                os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--host", host, "--port", str(port)])
            main()
            """
        },
    ),
    case(
        "python-typer",
        sh("exec python3 run.py"),
        files={
            "run.py": """
            import os, typer
            app = typer.Typer()
            @app.command()
            def main(port: int = typer.Option(8000, help="the port")):
                os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", str(port)])
            if __name__ == "__main__":
                app()
            """
        },
    ),
    case(
        "python-spawned",
        sh("python3 run.py"),
        files={
            "run.py": """
            import multiprocessing, os, subprocess
            def go():
                subprocess.run(["vllm", "serve", os.environ["MODEL_PATH"]], check=True)
            if __name__ == "__main__":
                multiprocessing.set_start_method("spawn")
                process = multiprocessing.Process(target=go)
                process.start()
                process.join()
            """
        },
    ),
    case(
        "python-asyncio",
        sh("python3 run.py"),
        files={
            "run.py": """
            import asyncio, os
            async def main():
                server = await asyncio.create_subprocess_exec("vllm", "serve", os.environ["MODEL_PATH"])
                await server.wait()
            asyncio.run(main())
            """
        },
    ),
    case(
        "python-cli-main",
        sh("exec python3 serve.py"),
        files={
            "serve.py": """
            import os, sys
            from vllm.entrypoints.cli.main import main
            sys.argv = ["vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000"]
            main()
            """
        },
    ),
    case(
        "python-sglang",
        sh("python3 serve.py"),
        files={
            "serve.py": """
            import os
            from sglang.srt.entrypoints.http_server import launch_server
            from sglang.srt.server_args import ServerArgs
            launch_server(ServerArgs(model_path=os.environ["MODEL_PATH"], host="0.0.0.0", port=8000))
            """
        },
    ),
    case(
        "python-subprocess",
        sh("python3 launch.py"),
        files={
            "launch.py": """
            import os, subprocess, sys
            cmd = ["vllm", "serve", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", str(8000)]
            sys.exit(subprocess.call(cmd))
            """
        },
    ),
    case(
        "python-exec",
        sh("exec python3 -m launcher"),
        files={
            "launcher/__init__.py": "",
            "launcher/__main__.py": """
            import os, sys
            from launcher.plan import arguments
            os.execvp(sys.executable, [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *arguments()])
            """,
            "launcher/plan.py": """
            import os
            def arguments():
                return ["--model", os.environ["MODEL_PATH"], "--port", "8000"]
            """,
        },
    ),
    case(
        "python-system",
        sh("python launch.py"),
        files={
            "launch.py": """
            import os, shlex
            os.system("vllm serve " + shlex.quote(os.environ["MODEL_PATH"]) + " --port 8000")
            """
        },
    ),
    case(
        "python-popen-poll",
        sh("python3 launch.py"),
        files={
            "launch.py": """
            import os, subprocess, time, urllib.request
            import torch
            tp = torch.npu.device_count()
            server = subprocess.Popen(["vllm", "serve", os.environ["MODEL_PATH"], "-tp", str(tp), "--port", "8000"])
            for _ in range(100):
                try:
                    urllib.request.urlopen("http://localhost:8000/health", timeout=2)
                    break
                except OSError:
                    time.sleep(3)
            server.wait()
            """
        },
    ),
    case(
        "python-vllm-api",
        sh("python3 serve.py"),
        files={
            "serve.py": """
            import os
            import uvloop
            from vllm.entrypoints.openai.api_server import run_server
            from vllm.entrypoints.openai.cli_args import make_arg_parser
            from vllm.utils import FlexibleArgumentParser
            parser = make_arg_parser(FlexibleArgumentParser())
            args = parser.parse_args(["--model", os.environ["MODEL_PATH"], "--port", "8000"])
            uvloop.run(run_server(args))
            """
        },
    ),
    case(
        "python-argparse-eval",
        bash('set -e\nARGS="$(python3 plan.py)"\neval exec vllm serve $ARGS'),
        files={
            "plan.py": """
            import os, shlex
            print(shlex.join([os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"]))
            """
        },
    ),
    case(
        "python-heredoc",
        sh(
            """
            exec python3 - <<'PY'
            import os
            os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"]])
            PY
            """
        ),
    ),
    case(
        "python-json-config",
        sh("python3 run.py --config serve.json"),
        files={
            "serve.json": '{"port": 8000, "host": "0.0.0.0"}',
            "run.py": """
            import argparse, json, os
            parser = argparse.ArgumentParser()
            parser.add_argument("--config", required=True)
            config = json.load(open(parser.parse_args().config))
            argv = ["vllm", "serve", os.environ["MODEL_PATH"]]
            for key, value in config.items():
                argv += [f"--{key}", str(value)]
            os.execvp(argv[0], argv)
            """,
        },
    ),
    case(
        "python-fastapi",
        sh("pip install -r requirements.txt\npython3 app.py"),
        OWN_SERVER,
        files={
            "requirements.txt": "fastapi\nuvicorn\n",
            "app.py": """
            import os
            import uvicorn
            from fastapi import FastAPI
            from fastapi.responses import StreamingResponse
            from pydantic import BaseModel
            from vllm import AsyncEngineArgs, AsyncLLMEngine

            app = FastAPI()
            engine = AsyncLLMEngine.from_engine_args(AsyncEngineArgs(model=os.environ["MODEL_PATH"]))

            class Request(BaseModel):
                model: str
                stream: bool = False

            @app.post("/v1/chat/completions")
            async def chat(request: Request):
                return StreamingResponse(engine.generate(request))

            if __name__ == "__main__":
                uvicorn.run(app, host="0.0.0.0", port=8000)
            """,
        },
    ),
    case(
        "uvicorn-command",
        sh("exec uvicorn server:app --host 0.0.0.0 --port 8000"),
        OWN_SERVER,
        files={
            "server.py": """
            import os
            from fastapi import APIRouter, FastAPI
            from transformers import AutoModelForCausalLM, AutoTokenizer
            path = os.environ["MODEL_PATH"]
            tokenizer = AutoTokenizer.from_pretrained(path)
            model = AutoModelForCausalLM.from_pretrained(path, device_map="npu:0")
            router = APIRouter(prefix="/v1")
            @router.post("/chat/completions")
            async def chat(body: dict):
                return model.generate(body)
            app = FastAPI()
            app.include_router(router)
            """
        },
    ),
)
