"""What a program of deploy.sh does: API keys, pip, programs of the image, installed programs, killed processes."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

NEVER = {"plan/starts-server": "fail"}
SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'

RIGHT_PROGRAMS: tuple[Case, ...] = (
    case("key-empty", sh(f'{SERVE} --api-key "${{API_KEY:-}}"')),
    case("key-empty-variable", sh(f'export VLLM_API_KEY=""\n{SERVE}')),
    case("key-empty-option-wins", sh(f'export VLLM_API_KEY=token\n{SERVE} --api-key ""')),
    *(
        case(f"installs-{name}", sh(f"set -e\n{line}\n{SERVE}"), files={"reqs.txt": "# nothing yet\n", "setup.cfg": ""})
        for name, line in (
            ("an-empty-list", "pip install -q -r reqs.txt"),
            ("by-short-options", "pip install -qUr reqs.txt"),
            ("the-project", "pip install -qe ."),
            ("with-limits", "pip install --no-cache-dir -c reqs.txt --timeout 5 six"),
            ("by-an-abbreviation", "pip install --requiremen=reqs.txt"),
            ("behind-dashes", "python3 -m pip --quiet install -- six"),
            ("by-a-global-option", "pip --proxy 127.0.0.1:9 --timeout 5 install six"),
            ("only-if-named", 'PACKAGES=""\n[ -z "$PACKAGES" ] || pip install -q $PACKAGES'),
            ("by-a-variable", "PIP_REQUIREMENT=reqs.txt pip install -q"),
            ("asks-for-help", "pip install --help >/dev/null"),
        )
    ),
    case("installs-nothing-and-goes-on", sh(f"pip install -q $PACKAGES\n{SERVE}")),
    *(
        case(f"kills-{name}", bash(f"{line}\n{SERVE}"))
        for name, line in (
            ("its-own", "sleep 9 &\nHELPER=$!\nkill -9 $HELPER 2>/dev/null || true"),
            ("its-children-at-the-end", "trap 'pkill -P $$' EXIT"),
            ("in-a-function-of-a-trap", "cleanup() { pkill -9 -f vllm; kill $(pgrep -f vllm); }\ntrap cleanup TERM"),
            ("when-asked-to-stop", 'case "${1:-start}" in stop) kill $(lsof -ti:8000); exit 0 ;; esac'),
            ("nothing", "kill -0 $(pgrep -f vllm) 2>/dev/null && echo busy"),
            ("its-children", "pkill -P $$ sleep || true"),
        )
    ),
    *(
        case(f"has-{name}", bash(f"set -e\n{line}\n{SERVE}"))
        for name, line in (
            ("base-programs", "ps aux | grep -c python | awk '{print $1}' | sort | xargs echo; free -g; nproc; getconf PAGE_SIZE"),
            ("numactl", "numactl --cpunodebind=0 --membind=0 npu-smi info"),
            ("cores", "taskset -pc 0-3 $$; taskset -c 0-190 true; ionice -c2 -n0 true"),
            ("downloads", "git --version; command -v wget curl; curl -s localhost:8000/health || true"),
            ("an-editor", "vim --version > /dev/null"),
            ("python-commands", "hf --help; modelscope --help; ray --version"),
        )
    ),
    *(
        case(f"program-{name}", bash(f"{line} || exit 3\n{SERVE}"), files=files)
        for name, line, files in (
            ("of-pip", "pip install yq\ncommand -v yq", {}),
            ("of-its-own-name", "pip install some-launcher\ncommand -v some-launcher", {}),
            ("of-requirements", "command -v supervisord", {"requirements.txt": "supervisor==4.2.5\n"}),
            ("of-a-list", "pip install -r more.txt\ncommand -v supervisorctl", {"more.txt": "supervisor\n"}),
            ("of-uv", "pip install uv\nuv pip install supervisor\ncommand -v supervisord", {}),
            ("of-npm", "apt-get install -y npm\nnpm install -g pm2\ncommand -v pm2", {}),
            ("of-apt", "apt-get update && apt-get install -y --no-install-recommends tmux=3.2a-4 jq\ncommand -v tmux", {}),
            ("of-yum", "yum install -y screen\ncommand -v screen", {}),
            ("that-is-not-there", "! { command -v nginx || which supervisord || type tmux; }", {}),
            ("that-is-looked-for", "! command -v sglang", {}),
        )
    ),
    case("kills-a-job-afterwards", bash('vllm serve "$MODEL_PATH" --port 8000 &\nPID=$!\nwait $PID\npkill -9 -f vllm')),
    case("returns-nowhere", sh(f". ./env.sh\n{SERVE}"), files={"env.sh": "UNUSED=1\r\n"}),
    case("sleeps-a-little", sh(f"sleep 10; sleep 4m\n{SERVE}")),
    case("sleeps-beside", sh(f"(sleep 3600; date) &\nsleep 600 && date &\n{SERVE}")),
    case("sleeps-afterwards", sh('vllm serve "$MODEL_PATH" --port 8000 &\nsleep 15m\nwait')),
)  # fmt: skip

LATE = {"plan/readiness-poll": "warn"}
WRONG_PROGRAMS: tuple[Case, ...] = (
    case("key-of-several", sh(f'{SERVE} --api-key "" token'), {"plan/no-api-key": "fail"}, says="--api-key"),
    case("ends-with-nothing-to-install", sh(f"set -e\npip install -q $PACKAGES\n{SERVE}"), NEVER,
         says="at least one requirement", fix='[ -z "${PACKAGES:-}" ] || pip install -q $PACKAGES'),
    *(
        case(f"ends-with-nothing-{name}", bash(f"set -e\n{line}\n{SERVE}"), NEVER, says="at least one requirement")
        for name, line in (
            ("but-options", "python3 -m pip install --no-cache-dir --timeout 5 $EXTRA"),
            ("but-limits", 'EXTRA=(); pip install -c limits.txt "${EXTRA[@]}"'),
            ("to-upgrade", "pip3 install -U ${WHEELS:-}"),
            ("to-download", "pip download -d wheels $PACKAGES"),
            ("to-remove", "pip uninstall -y $OLD"),
        )
    ),
    case("ends-with-an-empty-requirement", sh(f'set -e\npip install "$PACKAGE"\n{SERVE}'), NEVER, says="Invalid requirement: ''"),
    case("sleeps-first", sh(f"sleep 10m\n{SERVE}"), LATE, says="600 s", fix="line 2: sleep 10m"),
    case("sleeps-a-variable", bash(f'WAIT="${{WAIT:-300}}"\nsleep "$WAIT"\n{SERVE}'), LATE, says="deploy.sh:3"),
    case("sleeps-in-a-loop", sh(f"for i in 1 2 3 4 5 6; do sleep 60; done\n{SERVE}"), LATE, says="360 s"),
    case("sleeps-in-python", sh("python3 run.py"), LATE, says="400 s", files={"run.py": """
        import os, time
        time.sleep(400)
        os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"])
        """}),
    *(
        case(f"returns-in-{name}", sh(f"{reads}\n{serve}"), {"plan/no-carriage-returns": outcome}, files={file: text},
             says=f"{option}", fix=f"sed -i 's/\\r$//' {file}")
        for name, outcome, reads, file, text, option, serve in (
            ("a-host", "fail", ". ./env.sh", "env.sh", "HOST=0.0.0.0\r\n", "--host",
             'exec vllm serve "$MODEL_PATH" --host "$HOST" --port 8000'),
            ("a-port", "warn", ". conf/env.sh", "conf/env.sh", "export PORT=8000\r\n", "--port",
             'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port "$PORT"'),
            ("a-file-of-settings", "warn", "set -a; . ./prod.env; set +a", "prod.env", "HOST=0.0.0.0\r\nLENGTH=4096\r\n",
             "--max-model-len", f'{SERVE} --max-model-len "$LENGTH"'),
            ("a-list-of-options", "fail", 'while read -r line; do set -- "$@" "$line"; done < options.txt', "options.txt",
             "--dtype=bfloat16\r\n", "--dtype", f'{SERVE} "$@"'),
            ("a-name", "warn", "NAME=$(cat name.txt)", "name.txt", "model\r\n", "--served-model-name",
             f'{SERVE} --served-model-name "$MODEL_PATH" "$NAME"'),
            ("the-name", "fail", "NAME=$(cat name.txt)", "name.txt", "/srv/weights/Tiny-Chat\r\n", "--served-model-name",
             f'{SERVE} --served-model-name "$NAME"'),
            ("a-variable", "warn", "set -a; . ./env.sh; set +a", "env.sh", "HF_HUB_OFFLINE=1\r\n", "HF_HUB_OFFLINE", SERVE),
        )
    ),
    case("returns-in-python", sh(". ./env.sh\npython3 app.py"), {"plan/no-carriage-returns": "fail", "plan/served-name": "warn", "plan/model-path": "warn"},
         says="host 0.0.0.0", files={"env.sh": "export HOST=0.0.0.0\r\n", "app.py": """
        import os, uvicorn
        from fastapi import FastAPI
        app = FastAPI()
        @app.post("/v1/chat/completions")
        def chat(): ...
        uvicorn.run(app, host=os.environ["HOST"], port=8000)
        """}),
    *(
        case(f"kills-{name}", bash(f"{line}\n{SERVE}"), {"plan/kills-only-its-own": "warn"}, says="deploy.sh:2", fix="line 2: ")
        for name, line in (
            ("every-python", "pkill -9 python || true"),
            ("by-name", "killall -q python3"),
            ("the-port", "fuser -k 8000/tcp >/dev/null 2>&1"),
            ("what-listens", "lsof -ti:8000 | xargs -r kill -9"),
            ("what-listens-by-words", "kill -9 $(lsof -t -i:8000) 2>/dev/null || true"),
            ("what-ps-shows", "ps -ef | grep vllm | grep -v grep | awk '{print $2}' | xargs -r kill -9"),
            ("in-backticks", "kill -9 `ps aux | grep '[v]llm' | awk '{print $2}'` || true"),
            ("if-there-is-one", 'if pid=$(lsof -t -i:8000); then kill -9 "$pid"; fi'),
            ("in-a-loop", "for pid in $(pgrep -f vllm); do kill -9 $pid; done"),
            ("in-a-pipe", "netstat -nltp | awk '{print $7}' | while read -r pid; do kill -9 $pid; done"),
        )
    ),
    case("kills-in-a-function", bash(f"free() {{\n  kill -9 $(lsof -ti:$1)\n}}\nfree 8000\n{SERVE}"),
         {"plan/kills-only-its-own": "warn"}, says="deploy.sh:3"),
    case("kills-in-python", sh("python3 run.py"), {"plan/kills-only-its-own": "warn"}, says="pkill -9 -f vllm", files={"run.py": """
        import os, subprocess
        subprocess.run(["pkill", "-9", "-f", "vllm"])
        os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"])
        """}),
    case("frees-the-port", bash('lsof -ti:8000 | xargs -r kill -9\nvllm serve "$MODEL_PATH" --port 8000'),
         {"plan/kills-only-its-own": "warn"}),
    case("clears-the-port", sh('kill -9 $(lsof -t -i:8000) 2>/dev/null\npkill -f vllm\nvllm serve "$MODEL_PATH"'),
         {"plan/kills-only-its-own": "warn"}),
    *(
        case(f"lacks-{program}", bash(f"set -e\n{line}\n{SERVE}"), {**NEVER, "plan/no-missing-programs": "fail", "plan/self-contained": "fail"},
             says=f"{program}: ", fix=fix)
        for program, line, fix in (
            ("envsubst", "envsubst < /dev/null", "apt-get install -y gettext-base"),
            ("bc", 'PORT=$(echo "7000 + 1000" | bc)', "apt-get install -y bc"),
            ("nginx", "nginx -t", "apt-get install -y nginx"),
            ("tmux", "tmux new-session -d true", "do without tmux"),
            ("supervisord", "supervisord -n", "install -y supervisor"),
            ("screen", "screen -dm true", "do without screen"),
            ("rsync", "rsync -a . /tmp/copy", ""),
        )
    ),
    case("lacks-envsubst-and-goes-on", bash(f"envsubst < serve.tpl > /tmp/serve.conf\n{SERVE}"),
         {"plan/no-missing-programs": "warn", "plan/self-contained": "warn"}, says="envsubst is not there", files={"serve.tpl": "x"}),
    case("supervisor-of-pip", bash("set -e\npip install supervisor\nexec supervisord -n -c supervisord.conf"),
         {"plan/starts-server": "fail"}, says="without a server", files={"supervisord.conf": "[supervisord]\n"}),
    case("placeholder-before-the-server", bash(f"set -e\npip install yq\nPORT=$(yq .port serve.yaml)\n{SERVE}"),
         {"plan/starts-server": "unsettled"}, says="what yq does", files={"serve.yaml": "port: 8000\n"}),
    case("program-of-an-unknown-package", bash(f"set -e\npip install our-tools\nprepare-weights\n{SERVE}"),
         {"plan/starts-server": "unsettled", "plan/no-missing-programs": "unsettled", "plan/self-contained": "unsettled"}, says="our_tools"),
    case("program-of-uncertain-presence", bash(f"set -e\ncolumn -t names.txt\n{SERVE}"),
         {"plan/starts-server": "unsettled"}, says="what column does", files={"names.txt": "a b\n"}),
    case("nginx-installed-if-missing", bash("""
        command -v nginx || apt-get install -y nginx
        cp nginx.conf /tmp/nginx.conf
        vllm serve "$MODEL_PATH" --port 8001 &
        exec nginx -c /tmp/nginx.conf -g 'daemon off;'
        """), {"plan/front": "fail"}, files={"nginx.conf": "server { listen 8000; }\n"}, says="not allowed here"),
)  # fmt: skip
