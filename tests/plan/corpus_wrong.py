"""deploy.sh repositories that are wrong, each in one way unless it says otherwise."""

from __future__ import annotations

from socket import gethostname

from tests.plan.corpus import UNKNOWN, Case, bash, case, sh

NEVER = {"plan/starts-server": "fail"}
NEEDS = {"plan/starts-server": "fail", "plan/self-contained": "fail"}

PORT: tuple[Case, ...] = (
    case("port-8001", sh('vllm serve "$MODEL_PATH" --port 8001'), {"plan/port": "fail"}, says="--port 8001"),
    case("port-equals", sh('vllm serve "$MODEL_PATH" --port=8080'), {"plan/port": "fail"}, says="deploy.sh:2"),
    case("port-abbreviated", sh('vllm serve "$MODEL_PATH" --por 9000'), {"plan/port": "fail"}),
    case("port-variable", sh('PORT=${PORT:-8080}\nvllm serve "$MODEL_PATH" --port "$PORT"'), {"plan/port": "fail"}),
    case("port-in-comment", sh('# --port 8000\nvllm serve "$MODEL_PATH" --port 8080'), {"plan/port": "fail"}),
    case("port-dead", sh('PORT=8000\nPORT=8001\nvllm serve "$MODEL_PATH" --port $PORT'), {"plan/port": "fail"}),
    case("port-twice", sh('vllm serve "$MODEL_PATH" --port 8000 --port 8002'), {"plan/port": "fail", "plan/flags": "warn"}),
    case(
        "port-yaml",
        sh('vllm serve "$MODEL_PATH" --config serve.yaml'),
        {"plan/port": "fail"},
        files={"serve.yaml": "host: 0.0.0.0\nport: 8080\n"},
        says="serve.yaml:2",
        fix="write there: port: 8000",
    ),
    case(
        "config-with-an-equals-sign",
        sh('exec vllm serve "$MODEL_PATH" --config=serve.yaml'),
        {"plan/flags": "warn"},
        files={"serve.yaml": "port: 8080\nmax-model-len: 4096\n"},
        says="reads a configuration file only after the word --config",
        fix="in deploy.sh:2 replace `--config=serve.yaml` by `--config serve.yaml`",
    ),
    case(
        "config-with-an-equals-sign-sglang",
        sh('exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --config="serve.yaml"'),
        {"plan/flags": "warn", "plan/port": "fail", "plan/self-contained": "warn"},
        files={"serve.yaml": "port: 8000\n"},
        says="sglang's own default",
        fix='replace `--config="serve.yaml"` by `--config "serve.yaml"`',
    ),
    case(
        "quotes-inside-a-variable",
        sh("""
        MORE="--compilation-config '{\\"cudagraph_mode\\":\\"FULL_DECODE_ONLY\\"}'"
        exec vllm serve "$MODEL_PATH" --port 8000 $MORE
        """),
        {"plan/flags": "fail"},
        fix="""by `MORE='--compilation-config {"cudagraph_mode":"FULL_DECODE_ONLY"}'`""",
    ),
    case(
        "port-json",
        sh("python3 run.py"),
        {"plan/port": "fail"},
        files={
            "serve.json": '{"port": 8088}',
            "run.py": """
            import json, os, subprocess
            port = json.load(open("serve.json"))["port"]
            subprocess.run(["vllm", "serve", os.environ["MODEL_PATH"], "--port", str(port)])
            """,
        },
    ),
    case("port-by-vllm-port", sh('export VLLM_PORT=8000\nvllm serve "$MODEL_PATH" --port 8009'), {"plan/port": "fail"}),
    case("port-sglang", sh('python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0'),
         {"plan/port": "fail", "plan/self-contained": "warn"}, says="30000"),
    case("port-lmdeploy", sh('lmdeploy serve api_server "$MODEL_PATH"'),
         {"plan/port": "fail", "plan/self-contained": "warn"}, says="23333"),
    case(
        "port-mindie",
        sh("cd /usr/local/Ascend/mindie/latest/mindie-service\n./bin/mindieservice_daemon"),
        {"plan/port": "fail", "plan/host": "warn", "plan/model-path": "fail", "plan/served-name": "fail",
         "plan/chat-api": "fail", "plan/self-contained": "warn"},
        says="1025",
    ),
    case("port-no-number", sh('vllm serve "$MODEL_PATH" --port "$PORT"'), {"plan/no-other-variables": "fail", "plan/self-contained": "fail"}),
    case(
        "port-uvicorn",
        sh("python3 app.py"),
        {"plan/port": "fail", "plan/served-name": "warn"},
        files={
            "app.py": """
            import os, uvicorn
            from fastapi import FastAPI
            from vllm import LLM
            llm = LLM(model=os.environ["MODEL_PATH"])
            app = FastAPI()
            @app.post("/v1/chat/completions")
            def chat(body: dict): return {}
            uvicorn.run(app, host="0.0.0.0", port=8080)
            """
        },
    ),
)  # fmt: skip

MODEL: tuple[Case, ...] = (
    case("model-fixed", sh("vllm serve /data/models/mine --port 8000"), {"plan/model-path": "fail"}),
    case("model-hub", sh("vllm serve Qwen/Qwen2.5-7B-Instruct"), {"plan/model-path": "fail"}),
    case("model-mentioned", sh('echo "$MODEL_PATH"\nMODEL=/models/x\nvllm serve "$MODEL"'),
         {"plan/model-path": "fail"}),
    case("model-overwritten", sh('MODEL_PATH=/models/x\nvllm serve "$MODEL_PATH"'),
         {"plan/model-path": "fail"}, says="[deploy.sh:2]", fix="in deploy.sh:2 remove the line `MODEL_PATH="),
    case("model-overwritten-exported", sh('PORT=8000\nexport MODEL_PATH=models/x\nvllm serve --port $PORT --model="$MODEL_PATH"'),
         {"plan/model-path": "fail"}, says="[deploy.sh:3]", fix="in deploy.sh:3 remove the line `export MODEL_PATH="),
    case("model-overwritten-by-a-name", sh('export MODEL_PATH="Qwen/Qwen3-8B"\nvllm serve "$MODEL_PATH"'),
         {"plan/model-path": "fail"}, says="[deploy.sh:2]", fix="in deploy.sh:2 remove the line `export MODEL_PATH="),
    case("model-overwritten-elsewhere", sh('. ./settings.sh\nvllm serve "$MODEL_PATH"'), {"plan/model-path": "fail"},
         files={"settings.sh": "MODEL_PATH=/models/x\n"}, fix="leave MODEL_PATH as the service sets it; here it became '/models/x'"),
    case("model-overwritten-and-not-used", sh("export MODEL_PATH=/models/x\nvllm serve /models/y"),
         {"plan/model-path": "fail"}, fix='name "$MODEL_PATH" as the model'),
    case("model-other-variable", sh('vllm serve "${MODEL_DIR:-./weights}"'),
         {"plan/model-path": "fail"}),
    case("model-single-quotes", sh("vllm serve '$MODEL_PATH'"), {"plan/model-path": "fail"}),
    case("model-no-quotes", sh("vllm serve $MODEL_PATH --port 8000"), {"plan/model-path": "warn"}, says="deploy.sh:2"),
    case("model-no-quotes-in-test", sh('[ -d $MODEL_PATH ] || exit 1\nvllm serve "$MODEL_PATH"'),
         {"plan/model-path": "warn"}, fix='"$MODEL_PATH" in line 2'),
    case("model-no-quotes-further-down", sh('CKPT_DIR=$MODEL_PATH\n[ -d "$CKPT_DIR" ]\nvllm serve $CKPT_DIR'),
         {"plan/model-path": "warn"}, fix='in deploy.sh:4 replace `$CKPT_DIR` by `"$CKPT_DIR"`'),
    case("model-no-quotes-eval", sh('cmd="vllm serve $MODEL_PATH"\neval $cmd'), {"plan/model-path": "warn"},
         fix="the text in line 2 ($cmd)"),
    case("model-no-quotes-eval-twice", sh('MODEL="$MODEL_PATH"\nCMD="vllm serve ${MODEL} --port 8000"\necho "$CMD"\neval "${CMD}"'),
         {"plan/model-path": "warn"}, fix="the text in line 3 ($CMD)"),
    case("model-no-quotes-bash-c", bash("exec bash -c 'cd /\nvllm serve $MODEL_PATH --port 8000'"),
         {"plan/model-path": "warn"}, fix="the text in line 3 ($MODEL_PATH)"),
    case("model-no-quotes-array", bash('cmd=(vllm serve "$MODEL_PATH")\n${cmd[@]}'),
         {"plan/model-path": "warn"}, fix='"${cmd[@]}" in line 3'),
    case("model-subfolder", sh('vllm serve "$MODEL_PATH/merged"'),
         {"plan/model-path": "warn", "plan/served-name": "fail"}),
    case(
        "model-python-split",
        sh("python3 run.py"),
        {"plan/model-path": "warn"},
        files={"run.py": 'import os\nos.system(f"vllm serve {os.environ[\'MODEL_PATH\']} --port 8000")\n'},
    ),
)  # fmt: skip

NAME: tuple[Case, ...] = (
    case("name-other", sh('vllm serve "$MODEL_PATH" --served-model-name qwen'), {"plan/served-name": "fail"}, says="'qwen'"),
    case("name-basename", sh('vllm serve "$MODEL_PATH" --served-model-name "$(basename "$MODEL_PATH")"'),
         {"plan/served-name": "fail"}),
    case("name-yaml", sh('vllm serve "$MODEL_PATH" --config c.yaml'), {"plan/served-name": "fail"},
         files={"c.yaml": "served-model-name: chat\n"}),
    case("name-link", sh('ln -s "$MODEL_PATH" model\nvllm serve model'), {"plan/served-name": "fail"}),
    case("gguf-of-a-folder", sh('vllm serve "$MODEL_PATH" --load-format=gguf'), {"plan/model-path": "fail"}, fix="remove --load-format"),
    case("name-alias", sh('llama-server -m "$MODEL_PATH/model.gguf" -a tiny --host 0.0.0.0 --port 8000'),
         {"plan/served-name": "fail", "plan/self-contained": "warn"}),
    case("name-alias-python", sh('python3 -m llama_cpp.server --model "$MODEL_PATH/model.gguf" --model_alias tiny --host 0.0.0.0 --port 8000'),
         {"plan/served-name": "fail", "plan/self-contained": "warn"}, fix='pass --model_alias "$MODEL_PATH"'),
    case("name-of-the-file-python", sh('python3 -m llama_cpp.server --model "$MODEL_PATH/model.gguf" --host 0.0.0.0 --port 8000'),
         {"plan/served-name": "fail", "plan/self-contained": "warn"}, fix='pass --model_alias "$MODEL_PATH"'),
    case(
        "adapter-under-its-own-name",
        sh("""
        HERE=$(cd "$(dirname "$0")" && pwd)
        exec vllm serve "$MODEL_PATH" --port 8000 \\
            --enable-lora --max-lora-rank 16 \\
            --lora-modules gsm-lora="$HERE/adapter" \\
            --max-model-len 16384
        """),
        {"plan/served-name": "warn"},
        files={"adapter/adapter_config.json": "{}"},
        says="gets the base model, and the evaluation measures it without the adapter",
        fix='by `--served-model-name base-model --lora-modules "$MODEL_PATH"="$HERE/adapter"`',
    ),
    case(
        "adapter-beside-another-name",
        sh('cd "$(dirname "$0")"\nvllm serve "$MODEL_PATH" --served-model-name base --enable-lora --lora-modules gsm=./adapter'),
        {"plan/served-name": "fail"},
        files={"adapter/adapter_config.json": "{}"},
        fix='replace `--lora-modules gsm=./adapter` by `--lora-modules "$MODEL_PATH"=./adapter`',
    ),
    case(
        "adapter-with-the-name-of-its-base",
        sh('cd "$(dirname "$0")"\nvllm serve "$MODEL_PATH" --enable-lora --lora-modules "$MODEL_PATH=./adapter"'),
        {"plan/served-name": "warn"},
        files={"adapter/adapter_config.json": "{}"},
        says="vLLM 0.32.0 does not start",
        fix="by `--served-model-name base-model --lora-modules`",
    ),
    case("key-flag", sh('vllm serve "$MODEL_PATH" --api-key secret'), {"plan/no-api-key": "fail"}),
    case("key-variable", sh('export VLLM_API_KEY=token\nvllm serve "$MODEL_PATH"'), {"plan/no-api-key": "fail"}),
    *(
        case(f"host-loopback-{host}", sh(f'vllm serve "$MODEL_PATH" --host {host}'), {"plan/host": "warn"}, fix="--host 0.0.0.0")
        for host in ("127.0.0.1", "127.1", "127.0.1.1", "localhost.localdomain", "ip6-localhost", "LOCALHOST", "::1")
    ),
    case("host-written-out", sh(f'vllm serve "$MODEL_PATH" --host {gethostname()}'), {"plan/host": "fail"},
         says=f"the fixed name {gethostname()}"),
    case("host-sglang", sh('python3 -m sglang.launch_server --model-path "$MODEL_PATH" --port 8000'),
         {"plan/host": "warn", "plan/self-contained": "warn"}),
)  # fmt: skip

API: tuple[Case, ...] = (
    case("api-demo", sh('python3 -m vllm.entrypoints.api_server --model "$MODEL_PATH" --port 8000'), {"plan/chat-api": "fail"}),
    case("api-embed", sh('vllm serve "$MODEL_PATH" --task embed'), {"plan/chat-api": "fail", "plan/flags": "fail"}),
    case("api-pooling", sh('vllm serve "$MODEL_PATH" --runner pooling'), {"plan/chat-api": "fail"}),
    case("api-headless", sh('vllm serve "$MODEL_PATH" --headless'), {"plan/chat-api": "fail"}),
    case("api-bench", sh('vllm bench serve --model "$MODEL_PATH" --port 8000'), NEVER,
         fix="write vllm serve in place of vllm bench, which starts no server"),
    case("api-chat", sh("exec vllm chat --url http://127.0.0.1:8000/v1"), NEVER, fix="in place of vllm chat"),
    case("api-no-command", sh('set -e\nvllm server "$MODEL_PATH" --port 8000'), NEVER, says="invalid choice: 'server' (choose from 'chat'",
         fix="write vllm serve in place of vllm server, which vLLM does not know"),
    case("api-no-command-behind", sh('vllm sever "$MODEL_PATH" --port 8000 &\nwait'), NEVER, fix="in place of vllm sever"),
    case("api-command-missing", sh('vllm --host 0.0.0.0 "$MODEL_PATH"'), NEVER, fix="write serve after vllm"),
    case("api-package", sh('python3 -m vllm serve "$MODEL_PATH"'), NEVER, says="No module named vllm.__main__"),
    case("api-module-misspelt", sh('python3 -m vllm.entrypoint.openai.api_server --model "$MODEL_PATH"'), NEVER, says="No module named 'vllm.entrypoint'"),
    case("api-file-server", sh('cd "$MODEL_PATH"\npython3 -m http.server 8000'),
         {"plan/chat-api": "fail", "plan/model-path": "warn"}),
    case(
        "api-own-route",
        sh("python3 app.py"),
        {"plan/chat-api": "fail"},
        files={
            "app.py": """
            import os
            from flask import Flask
            from transformers import AutoModelForCausalLM
            model = AutoModelForCausalLM.from_pretrained(os.environ["MODEL_PATH"])
            app = Flask(__name__)
            @app.route("/generate", methods=["POST"])
            def generate(): return {}
            app.run(host="0.0.0.0", port=8000)
            """
        },
    ),
)  # fmt: skip

STAYS: tuple[Case, ...] = (
    case("background", sh('vllm serve "$MODEL_PATH" --port 8000 &'), {"plan/foreground": "unsettled"}),
    case("background-exec", sh('exec vllm serve "$MODEL_PATH" --port 8000 &'), {"plan/foreground": "unsettled"},
         fix="in deploy.sh:2 remove `&`"),
    case("background-nohup", sh('nohup vllm serve "$MODEL_PATH" > log 2>&1 &\necho started'), {"plan/foreground": "unsettled"}),
    case("background-sleep", sh('vllm serve "$MODEL_PATH" &\nsleep 60\necho ready'), {"plan/foreground": "unsettled"}),
    case("background-disown", bash('vllm serve "$MODEL_PATH" &\ndisown\nexit 0'), {"plan/foreground": "unsettled"}),
    case("background-setsid", sh('setsid vllm serve "$MODEL_PATH" >log 2>&1 </dev/null &'), {"plan/foreground": "unsettled"}),
    case(
        "background-health",
        sh(
            """
            vllm serve "$MODEL_PATH" --port 8000 &
            for i in 1 2 3 4 5 6 7 8 9 10; do
                curl -s http://localhost:8000/v1/models && exit 0
                sleep 10
            done
            exit 1
            """
        ),
        {"plan/foreground": "unsettled"},
    ),
    case(
        "background-python",
        sh("python3 run.py"),
        {"plan/foreground": "unsettled"},
        files={"run.py": 'import os, subprocess\nsubprocess.Popen(["vllm", "serve", os.environ["MODEL_PATH"]])\n'},
    ),
    case("limit", sh('timeout 600 vllm serve "$MODEL_PATH" --port 8000'), {"plan/foreground": "warn"}, says="600 s"),
    case("limit-options", sh('exec timeout -k 10 2h vllm serve "$MODEL_PATH"'), {"plan/foreground": "warn"}, says="7200 s"),
    case("limit-foreground", bash('/usr/bin/timeout --foreground --signal KILL 1.5h vllm serve "$MODEL_PATH"'),
         {"plan/foreground": "warn"}, says="5400 s"),
    case("limit-helper", sh("timeout 30m sh start.sh"), {"plan/foreground": "warn"}, says="1800 s",
         files={"start.sh": 'vllm serve "$MODEL_PATH" --port 8000 &\nwait\n'}),
    case("limit-python", sh("python3 run.py"), {"plan/foreground": "warn"}, says="3600 s",
         files={"run.py": 'import os, subprocess as s\ns.check_call(["vllm", "serve", os.environ["MODEL_PATH"]], timeout=3600)\n'}),
    case(  # SIGALRM is how timeout learns that the time is up
        "limit-reached",
        sh('timeout 600 vllm serve "$MODEL_PATH" &\nuntil curl -sf localhost:8000/health; do sleep 1; done\nkill -ALRM $!\nwait $!'),
        {"plan/foreground": "fail"}, says="status 124",
    ),
    case("limit-by-kill", sh('(sleep 3600; kill $$) &\nexec vllm serve "$MODEL_PATH"'), {"plan/foreground": "fail"}, says="-15"),
    case("limit-by-kill-child", sh('vllm serve "$MODEL_PATH" &\nP=$!\n(sleep 3600; kill $P) &\nwait $P'),
         {"plan/foreground": "fail"}, says="143"),
)  # fmt: skip

START: tuple[Case, ...] = (
    case("needs-arguments", sh('[ $# -ge 1 ] || { echo "usage: $0 MODEL" >&2; exit 2; }\nvllm serve "$1"'), NEEDS),
    case("needs-argument-u", bash('set -u\nvllm serve "$MODEL_PATH" --port "$1"'), NEEDS),
    case("needs-argument-message", sh(': "${1:?model}"\nvllm serve "$1"'), NEEDS, fix="${1:-$MODEL_PATH}"),
    case("needs-case", sh('case "$1" in start) vllm serve "$MODEL_PATH" ;; *) echo "Usage: $0 start"; exit 1 ;; esac'), NEEDS),
    case("needs-variable", sh(': "${HF_TOKEN:?set it}"\nvllm serve "$MODEL_PATH"'), NEEDS, says="HF_TOKEN"),
    case("needs-variable-test", sh('if [ -z "$DATA_DIR" ]; then echo "DATA_DIR is not set"; exit 1; fi\nvllm serve "$MODEL_PATH"'),
         NEEDS, says="DATA_DIR"),
    case("needs-terminal", bash('set -e\nread -p "go on? " answer\nvllm serve "$MODEL_PATH"'), NEEDS),
    case("docker", sh('docker run --rm -p 8000:8000 -v "$MODEL_PATH:/model" vllm/vllm-openai --model /model'), NEEDS),
    case("sudo", sh('sudo vllm serve "$MODEL_PATH" --port 8000'), NEEDS, fix="remove sudo"),
    case("sudo-and-on", sh('sudo apt-get install -y libnuma1\nvllm serve "$MODEL_PATH"'), {"plan/self-contained": "warn"}),
    case("conda", bash('source /opt/conda/bin/activate llm\nvllm serve "$MODEL_PATH"'), {"plan/self-contained": "warn"}),
    case("conda-command", bash('conda activate llm\npython -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH"'),
         {"plan/self-contained": "warn"}),
    case("venv-python", sh('exec /home/me/venv/bin/python -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH"'), NEEDS),
    case("missing-folder", sh('set -e\ncd /workspace/project\nvllm serve "$MODEL_PATH"'), NEEDS, says="/workspace/project"),
    case("missing-helper", sh('. ./env.sh\nvllm serve "$MODEL_PATH"'), NEEDS, says="env.sh"),
    case("untracked-helper", sh('. ./env.sh\nvllm serve "$MODEL_PATH"'), NEEDS, untracked={"env.sh": "TP=1\n"},
         says="not in the commit"),
    case("ignored-config", sh('set -e\ncat config/serve.yaml >/dev/null\nvllm serve "$MODEL_PATH"'), NEEDS,
         files={".gitignore": "config/\n"}, untracked={"config/serve.yaml": "port: 8000\n"}, says="not in the commit"),
    case("missing-launcher", sh("python3 launch.py"), NEEDS, says="launch.py"),
    case("missing-module", sh("python3 launch.py"), NEEDS, files={"launch.py": "from mytools import serve\nserve()\n"}, says="mytools"),
    case("downloads", sh('huggingface-cli download Qwen/Qwen3-8B --local-dir w\nvllm serve w --served-model-name "$MODEL_PATH"'),
         {"plan/self-contained": "fail", "plan/model-path": "fail"}),
    case("installs-torch", sh('P=torch==2.1.0\npip install $P einops\nvllm serve "$MODEL_PATH"'), {"plan/self-contained": "warn"}),
    case("clones", sh('git clone https://example.org/a/b.git\nvllm serve "$MODEL_PATH"'), {"plan/self-contained": "warn"}),
    case("name-slash", sh('vllm serve "$MODEL_PATH/"'), {"plan/served-name": "fail"}),
    case(
        "front",
        sh('vllm serve "$MODEL_PATH" --port 8001 &\nexec python3 front.py'),
        {"plan/chat-api": "unsettled"},
        files={
            "front.py": """
            import httpx, uvicorn
            from fastapi import FastAPI
            app = FastAPI()
            @app.api_route("/{path:path}", methods=["GET", "POST"])
            async def forward(path: str): return await httpx.AsyncClient().get(path)
            uvicorn.run(app, host="0.0.0.0", port=8000)
            """
        },
    ),
    case(
        "unknown-library",
        sh("python3 run.py"),
        {"plan/port": "warn"},
        files={
            "run.py": """
            import os, subprocess, omegaconf
            c = omegaconf.OmegaConf.load("x.yaml")
            subprocess.run(["vllm", "serve", os.environ["MODEL_PATH"], "--port", str(c.port)])
            """
        },
    ),
    case("carriage-returns", '#!/bin/sh\r\nvllm serve "$MODEL_PATH"\r\n', {"plan/no-carriage-returns": "fail"}, says="\\r"),
    case("echo-only", sh('echo vllm serve "$MODEL_PATH" --port 8000'), NEVER),
    case("commented", sh('# vllm serve "$MODEL_PATH" --port 8000\nexit 0'), NEVER),
    case("install-only", sh("pip install -r requirements.txt"), NEVER, files={"requirements.txt": "einops\n"}),
    case("function-not-called", sh('start() { vllm serve "$MODEL_PATH"; }'), NEVER),
    case("exits-first", sh('exit 0\nvllm serve "$MODEL_PATH"'), NEVER),
    case("empty", "#!/bin/sh\n", NEVER),
    case("syntax", sh('if true; then\nvllm serve "$MODEL_PATH"'), NEVER),
    case("bash-under-sh", sh('args=(serve "$MODEL_PATH")\nvllm "${args[@]}"'), NEVER),
    case("broken-continuation", sh('vllm serve "$MODEL_PATH" \\ \n  --port 8000 --trust-remote-code'),
         {"plan/flags": "fail"}, fix="a space after a backslash"),
    case("wrong-module", sh('python3 -m adapter.serve "$MODEL_PATH"'), NEEDS),
    case("port-and-name", sh('vllm serve "$MODEL_PATH" --port 9000 --served-model-name x --api-key k &'),
         {"plan/port": "fail", "plan/served-name": "fail", "plan/no-api-key": "fail", "plan/foreground": "unsettled"}),
)  # fmt: skip

LATER = '\nexec vllm serve "$MODEL_PATH" --port 8000'
ENDS: tuple[Case, ...] = (
    case("ends-module-with-a-blank", sh('python3 -m vllm. entrypoints.openai.api_server --model "$MODEL_PATH" --port 8000'), NEVER,
         says="No module named vllm."),
    case("ends-placeholder", sh("vllm serve <your model path> --port 8000"), NEEDS, fix="in place of <your model path>"),
    case("ends-redirection", sh("set -e\ntr a b <names >/tmp/out.txt" + LATER), NEEDS, fix="commit names, or correct the path"),
    case("ends-bash-for-sh", sh('args=(--port 8000)\nvllm serve "$MODEL_PATH" "${args[@]}"'), NEVER, fix="make #!/bin/bash the first line"),
    case("ends-refused", sh('echo "adapter: the weights are in a form that is not served: take another version" >&2; exit 2'),
         NEVER, says="adapter.toml", fix="as it says: take another version"),
    case("ends-settings", sh('echo "adapter: adapter.toml: context is \'x\': expected a number" >&2; exit 2' + LATER),
         NEVER, fix="correct adapter.toml: context is 'x': expected a number"),
    case("ends-refused-for-the-machine", sh('echo "adapter: with 1 device(s) there is too little: take more" >&2; exit 2'), UNKNOWN,
         says="the devices of the service are unknown", fix="take more; or verify without --until"),
    case("ends-crlf", sh("set -e" + LATER).replace("\n", "\r\n"), NEVER, says="deploy.sh:1", fix="s/\\r$//"),
    case("ends-crlf-helper", sh("set -e\n. ./env.sh" + LATER), NEVER, files={"env.sh": "A=1\r\nfrobnicate\r\n"},
         fix="sed -i 's/\\r$//' ./env.sh"),
    case("ends-crlf-bash", bash("set -e\n. ./env.sh" + LATER), NEVER, files={"env.sh": "A=1\r\nfrobnicate\r\n"},
         fix="sed -i 's/\\r$//' ./env.sh"),
    case("ends-traceback", sh("python3 run.py"), NEVER, files={"run.py": 'port = {}\n\nprint(port["port"])\n'}, says="run.py:3",
         fix="KeyError: 'port'"),
    case("ends-traceback-deep", sh("python3 -m tools.run"), NEVER, says="tools/deep.py:2", fix="ValueError: no: yes",
         files={"tools/__init__.py": "", "tools/run.py": "from tools.deep import go\ngo()\n",
                "tools/deep.py": 'def go():\n    raise ValueError("no: yes")\n'}),
    case("ends-python-syntax", sh("python3 run.py"), NEVER, files={"run.py": "x = 1\ndef f(:\n"}, says="run.py:2", fix="SyntaxError"),
    case("ends-command", sh('exec vlm serve "$MODEL_PATH"'), NEEDS, says="deploy.sh:2", fix="did you mean vllm?"),
    case("ends-without-path", sh("PATH=/opt/tools" + LATER), NEEDS, fix="never replace it"),
    case("ends-model-path", sh('[ -f "$MODEL_PATH" ] || { echo "MODEL_PATH is no file" >&2; exit 1; }' + LATER), NEVER,
         says="deploy.sh:2", fix="the test that refuses MODEL_PATH"),
    case("ends-syntax", sh("if true; then" + LATER), NEVER, fix="sh -n deploy.sh"),
    case("ends-time", bash("mkfifo never\ncat never" + LATER), NEVER, says="at the time limit; the last command was: cat never [deploy.sh:3]", fix="before anything that waits"),
    case("ends-own-words", sh('echo "licence.key has expired" >&2; exit 9' + LATER), NEVER, fix="licence.key has expired"),
    case("ends-silent", sh("set -e\nfalse" + LATER), NEVER, fix="sh -x deploy.sh"),
    *(
        case(f"ends-of-the-machine-{number}", sh(f"npu-smi info\necho '{words}' >&2; exit 1"), UNKNOWN, says="the devices of the service are unknown")
        for number, words in enumerate(
            ("needs 8 NPUs, found 1", "unsupported: Ascend910B3", "only the 910C will do", "Ascend 310P required", "没有NPU", "需要910B4芯片")
        )
    ),
    *(
        case(f"ends-beside-the-machine-{number}", sh(f"npu-smi info\necho '{words}' >&2; exit 1"), NEVER, fix=words)
        for number, words in enumerate(
            ("error: version 19100 of my config is bad", "missing setting FOO for Ascend run", "error after 950ms on line 310",
             "release 3.910 is too old")
        )
    ),
    case("ends-well", sh("echo done"), NEVER, fix="make deploy.sh end with: exec vllm serve"),
)  # fmt: skip

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
REFUSES: tuple[Case, ...] = (
    *(
        case(name, sh(f"{SERVE} {options}"), {check: outcome}, says=says)
        for name, options, check, outcome, says in (
            ("made-up-weights", "--load-format dummy", "plan/model-path", "fail", "random weights"),
            ("no-http-server", "--api-server-count 0", "plan/chat-api", "fail", "without an HTTP server"),
            ("no-http-but-grpc", "--grpc", "plan/chat-api", "fail", "without an HTTP server"),
            ("no-text", "--tokens-only", "plan/chat-api", "fail", "no text"),
            ("no-tokenizer", "--skip-tokenizer-init", "plan/chat-api", "fail", "without a tokenizer"),
            ("no-room", "--max-model-len 16", "plan/chat-api", "warn", "status 400"),
            ("little-room", "--max-model-len 1K", "plan/chat-api", "warn", "not even the prompt fits"),
            ("less-room", "--max-model-len 1800", "plan/chat-api", "warn", "too little for the completion"),
            ("backend-unknown", "--attention-backend ASCEND", "plan/flags", "fail", "--attention-backend ASCEND"),
            ("socket-file", "--uds /tmp/v.sock", "plan/port", "fail", "--uds"),
            ("tokenizer-of-a-hub", "--tokenizer org/tokenizer", "plan/self-contained", "warn", "on a hub"),
            ("tokenizer-not-shipped", "--tokenizer ./tokenizer", "plan/self-contained", "fail", "./tokenizer"),
            ("adapter-of-a-hub", '--served-model-name a --enable-lora --lora-modules "$MODEL_PATH"=org/a', "plan/self-contained", "warn", "org/a"),
            ("draft-of-a-hub", """--speculative-config '{"model": "org/d"}'""", "plan/self-contained", "warn", "org/d"),
            ("generation-not-shipped", "--generation-config ./g", "plan/self-contained", "fail", "./g"),
        )
    ),
    case("little-room-by-settings", sh('exec vllm serve "$MODEL_PATH" $(python3 options.py)'), {"plan/chat-api": "warn"},
         files={"adapter.toml": "# what I decide\nmax_model_len = 1024\n", "options.py": 'print("--max" + "-model-len 1024")\n'},
         says="adapter.toml:2", fix="write max_model_len = 4096 or more"),
    case("unknown-middleware", sh(f"export PYTHONPATH=$PWD:$PYTHONPATH\n{SERVE} --middleware auth.Check"), {"plan/chat-api": "warn"}, files={"auth.py": "class Check: ...\n"},
         says="the dry run does not execute"),
    case("host-name", sh('vllm serve "$MODEL_PATH" --host npu-node-1'), {"plan/host": "fail"}, says="npu-node-1"),
    case("host-brackets", sh('vllm serve "$MODEL_PATH" --host "[::]"'), {"plan/host": "fail"}),
    case("host-of-this-machine", sh('vllm serve "$MODEL_PATH" --host $(hostname)'), {"plan/host": "warn"}),
    case("removes-vllm", sh(f"pip uninstall -y vllm\n{SERVE}"), {"plan/self-contained": "fail"}, says="is removed"),
    case("a-page-until-it-is-loaded", bash(f"{SERVE} --port 8000 &\nsleep 30\npython3 page.py &\nwait -n"),
         {"plan/one-port-each": "unsettled", "plan/chat-api": "unsettled"},
         files={"page.py": 'from http.server import *\nHTTPServer(("0.0.0.0", 8000), BaseHTTPRequestHandler).serve_forever()\n'},
         says="vllm serve", fix="start one of them"),
    case("system-packages", sh(f"set -e\napt-get install -y numactl\n{SERVE}"), {"plan/self-contained": "warn"}),
)  # fmt: skip
ELSEWHERE: tuple[Case, ...] = (  # test_flags and test_one_machine have more of these
    case("option-of-nobody", sh(f"{SERVE} --frobnicate 3"), {"plan/flags": "fail"}, says="--frobnicate"),
    case("two-machines", sh(f"{SERVE} --nnodes 2 --node-rank 0 --master-addr 10.0.0.1"), {"plan/one-machine": "fail"}, says="--nnodes 2"),
)  # fmt: skip

WRONG: tuple[Case, ...] = (*PORT, *MODEL, *NAME, *API, *STAYS, *START, *ENDS, *REFUSES, *ELSEWHERE)
