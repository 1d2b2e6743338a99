"""Repositories in the manner of public launch scripts: retries, polls, wrappers, options that name files."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SELF = {"plan/self-contained": "fail"}
EMPTIED = {"plan/self-contained": "fail", "plan/port": "fail", "plan/flags": "fail"}

RIGHT_LAUNCHERS: tuple[Case, ...] = (
    case(
        "polls-and-tries-once",
        bash(
            """
            cleanup() { kill -TERM "$PID" 2>/dev/null; wait "$PID"; }
            trap cleanup SIGTERM SIGINT EXIT
            vllm serve "$MODEL_PATH" --port 8000 --host 0.0.0.0 > server.log 2>&1 &
            PID=$!
            until curl -s -o /dev/null -w '%{http_code}' http://localhost:8000/v1/models | grep -q 200; do
              ps -p $PID > /dev/null || exit 1
              sleep 5
            done
            curl -s localhost:8000/v1/chat/completions -d '{"model":"'"$MODEL_PATH"'"}' || true
            wait "$PID"
            """
        ),
    ),
    case("nohup-tail", bash('nohup vllm serve "$MODEL_PATH" --port 8000 > v.log 2>&1 &\ntail -f v.log')),
    case("wrapped", bash('exec taskset -c 0-1 stdbuf -oL vllm serve "$MODEL_PATH" --port 8000 --host ::')),
    case("log-by-process", bash('exec > >(tee -a "run_$(date +%s).log") 2>&1\nvllm serve "$MODEL_PATH"')),
    case(
        "parses-options",
        bash(
            """
            port=8000
            while getopts "p:h" o; do case $o in p) port=$OPTARG;; *) exit 0;; esac; done
            shift $((OPTIND-1))
            while [ $# -gt 0 ]; do shift; done
            vllm serve "$MODEL_PATH" --port "$port" "$@"
            """
        ),
    ),
    case(
        "filled-template",
        bash(
            "command -v envsubst || apt-get install -y gettext-base\n"
            "envsubst < serve.tpl > /tmp/serve.yaml\nexec vllm serve --config /tmp/serve.yaml"
        ),
        files={"serve.tpl": 'model: "${MODEL_PATH}"\nport: 8000\n'},
    ),
    case(
        "template-of-the-repository",
        sh('cd "$(dirname "$0")"\nexec vllm serve "$MODEL_PATH" --chat-template=conf/chat.jinja'),
        files={"conf/chat.jinja": "{{ messages }}"},
    ),
    case("template-of-the-weights", sh('exec vllm serve "$MODEL_PATH" --chat-template "$MODEL_PATH/config.json"')),
    case("template-in-line", sh("exec vllm serve \"$MODEL_PATH\" --chat-template '{{ messages[0].content }}'")),
    case("template-by-name", sh(
        'exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000 '
        "--chat-template qwen2-vl"
    ), {"plan/self-contained": "warn"}, says="nothing installs it"),
    case("swift-names-the-model-by-its-folder", sh(
        'exec swift deploy --model "$MODEL_PATH" --host 0.0.0.0 --port 8000'
    ), {"plan/served-name": "fail"}, files={"requirements.txt": "ms-swift==3.9.0\n"}, says="served as",
       fix='pass --served-model-name "$MODEL_PATH"'),
    case("llama-factory-on-the-port-of-its-variable", sh(
        'export API_HOST=0.0.0.0 API_PORT=8001\nexec llamafactory-cli api --model_name_or_path "$MODEL_PATH"'
    ), {"plan/port": "fail", "plan/served-name": "fail"}, files={"requirements.txt": "llamafactory==0.9.3\n"},
       says="port 8001", fix="replace `API_PORT=8001` by `API_PORT=8000`"),
    case("llama-factory-with-its-own-name", sh(
        'API_PORT=8000 exec llamafactory-cli api --model_name_or_path "$MODEL_PATH"'
    ), {"plan/served-name": "fail"}, files={"requirements.txt": "llamafactory==0.9.3\n"},
       says="gpt-3.5-turbo", fix='insert above the command that starts the server in deploy.sh: export API_MODEL_NAME="$MODEL_PATH"'),
    case("llama-factory-on-loopback", sh(
        'export API_HOST=127.0.0.1 API_MODEL_NAME="$MODEL_PATH"\nexec llamafactory-cli api --model_name_or_path "$MODEL_PATH"'
    ), {"plan/host": "warn"}, files={"requirements.txt": "llamafactory==0.9.3\n"}, fix="export API_HOST=0.0.0.0"),
    case("files-of-variables", sh("""
        export VLLM_LOGGING_CONFIG_PATH="$PWD/conf/log.json" RANK_TABLE_FILE=/tmp/ranks.json
        echo '{}' > "$RANK_TABLE_FILE"
        MOONCAKE_CONFIG_PATH=$MODEL_PATH/config.json LMCACHE_CONFIG_FILE= exec vllm serve "$MODEL_PATH" --port 8000
        """), files={"conf/log.json": "{}"}),
    case("reads-from-a-file", bash('read -r line < "$MODEL_PATH/config.json"\nexec vllm serve "$MODEL_PATH"')),
)  # fmt: skip

NEEDS = {"plan/starts-server": "fail", "plan/self-contained": "fail"}
NEVER = {"plan/starts-server": "fail"}

WRONG_LAUNCHERS: tuple[Case, ...] = (
    case("required-option", sh("python3 run.py"), NEEDS, files={"run.py": """
        import argparse, os
        parser = argparse.ArgumentParser()
        parser.add_argument("--model", required=True)
        os.execvp("vllm", ["vllm", "serve", parser.parse_args().model])
        """}, says="--model"),
    case("asks-in-python", sh("python3 run.py"), NEEDS, files={"run.py": """
        import os
        port = input("port? ")
        os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", port])
        """}),
    case("offline-inference", sh("python3 run.py"), NEVER, files={"run.py": """
        import os
        from vllm import LLM, SamplingParams
        print(LLM(os.environ["MODEL_PATH"]).generate(["hi"], SamplingParams(temperature=0)))
        """}),
    case("offline-pipeline", sh('python3 run.py --model "$MODEL_PATH"'), NEVER, files={"run.py": """
        import argparse, torch
        from transformers import pipeline
        parser = argparse.ArgumentParser()
        parser.add_argument("--model")
        print(pipeline("text-generation", model=parser.parse_args().model, torch_dtype=torch.bfloat16)("hi"))
        """}),
    case("empty-variable", sh('vllm serve "$MODEL_DIR" --port 8000'), {"plan/model-path": "fail"}, says="is empty"),
    case("empty-variable-option", sh('python3 -m sglang.launch_server --model-path "$W" --port 8000 --host 0.0.0.0'),
         {"plan/model-path": "fail", "plan/self-contained": "warn"}),
    case("argument-without-default", bash('PORT=$2\nvllm serve "$MODEL_PATH" --port $PORT'),
         {"plan/no-arguments": "fail", "plan/self-contained": "fail"}, says="$2"),
    case("asks-for-the-port", bash('read -p "Port? " PORT\nvllm serve "$MODEL_PATH" --port $PORT'),
         {"plan/no-arguments": "fail", "plan/no-other-variables": "fail", "plan/self-contained": "fail"},
         says="input from a terminal"),
    case("config-not-shipped", sh('vllm serve "$MODEL_PATH" --config conf/serve.yaml'), SELF, says="deploy.sh:2"),
    case("template-not-shipped", sh('vllm serve "$MODEL_PATH" \\\n  --chat-template=./chat.jinja'), SELF,
         says="deploy.sh:3"),
    case("template-not-in-the-weights", sh('vllm serve "$MODEL_PATH" --chat-template "$MODEL_PATH/x.jinja"'), SELF),
    case("template-of-the-image", sh('vllm serve "$MODEL_PATH" --chat-template /vllm-workspace/vllm/examples/t.jinja'),
         {"plan/self-contained": "warn"}, says="no such file"),
    case("logging-not-shipped", sh('export VLLM_LOGGING_CONFIG_PATH=conf/log.json\nvllm serve "$MODEL_PATH"'), SELF,
         says="deploy.sh:2", fix="commit conf/log.json, or correct the path; or do not export VLLM_LOGGING_CONFIG_PATH"),
    case("logging-behind-a-front", sh('VLLM_LOGGING_CONFIG_PATH=./log.json vllm serve "$MODEL_PATH" &\nwait'), SELF),
    case("ranks-not-shipped", sh('export RANK_TABLE_FILE=/data/hccl_8p.json\nvllm serve "$MODEL_PATH" -tp 8'),
         {"plan/self-contained": "warn"}, says="RANK_TABLE_FILE=/data/hccl_8p.json: there is no such file"),
    case("plug-in-not-shipped", sh('vllm serve "$MODEL_PATH" --tool-parser-plugin ./parser.py'), SELF),
)  # fmt: skip
