"""Right deploy.sh repositories: helpers, configuration files, environments, other engines."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'

AROUND: tuple[Case, ...] = (
    case(
        "limit-of-a-poll",
        bash(
            f'timeout 60 npu-smi info || true\ntimeout 600 bash -c "until true; do sleep 1; done"\n{SERVE}'
        ),
    ),
    case("limit-of-nothing", sh('exec timeout 0 vllm serve "$MODEL_PATH" --port 8000')),
    case(
        "limit-of-a-month", sh('timeout --kill-after 60 30d vllm serve "$MODEL_PATH" --port 8000')
    ),
    case(
        "limit-in-python",
        sh("python3 run.py"),
        files={
            "run.py": """
            import os, subprocess
            subprocess.run(["npu-smi", "info"], timeout=30, capture_output=True)
            subprocess.run(["vllm", "serve", os.environ["MODEL_PATH"]], check=True)
            """
        },
    ),
    case(
        "helper",
        sh('. ./scripts/common.sh\nserve "$MODEL_PATH"'),
        files={"scripts/common.sh": 'serve() { exec vllm serve "$1" --port 8000; }\n'},
    ),
    case(
        "helper-script",
        sh("exec sh scripts/run.sh"),
        files={"scripts/run.sh": 'vllm serve "$MODEL_PATH"\n'},
    ),
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
    case(
        "config-file-in-an-array",
        bash('ARGS=(--config "conf/serve.yaml")\nexec vllm serve "$MODEL_PATH" "${ARGS[@]}"'),
        files={"conf/serve.yaml": "host: 0.0.0.0\nport: 8000\nmax-model-len: 4096\n"},
    ),
    case(
        "adapter-under-the-weight-path",
        sh(
            """
            exec vllm serve "$MODEL_PATH" --served-model-name base-model \\
                --enable-lora --lora-modules "$MODEL_PATH"=./adapter other=./adapter
            """
        ),
        files={"adapter/adapter_config.json": "{}"},
    ),
    case("absolute-vllm", sh('exec /usr/local/bin/vllm serve "$MODEL_PATH" --port 8000')),
    case(
        "absolute-python",
        sh('exec /usr/bin/python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH"'),
    ),
    case("which", sh('VLLM=$(command -v vllm)\nexec "$VLLM" serve "$MODEL_PATH"')),
    case("python-which", sh('exec python3 "$(which vllm)" serve "$MODEL_PATH" --port 8000')),
    case(
        "venv",
        sh(
            'python3 -m venv .venv\n. .venv/bin/activate\npip install einops\nexec vllm serve "$MODEL_PATH"'
        ),
    ),
    case("optional-venv", sh(f"[ -f venv/bin/activate ] && . venv/bin/activate\n{SERVE}")),
    case("optional-conda", sh(f"command -v conda >/dev/null 2>&1 && conda activate llm\n{SERVE}")),
    case(
        "link",
        sh('ln -s "$MODEL_PATH" model\nexec vllm serve model --served-model-name "$MODEL_PATH"'),
    ),
    case(
        "two-names",
        sh('vllm serve "$MODEL_PATH" --served-model-name mymodel "$MODEL_PATH" --port 8000'),
    ),
    case(
        "renamed-variable",
        sh('MODEL_DIR="${MODEL_PATH}"\nexec vllm serve "$MODEL_DIR" --port 8000'),
    ),
    case(
        "default-path",
        sh('MODEL=${MODEL_PATH:-/data/models/mine}\nexec vllm serve "$MODEL" --port 8000'),
    ),
    case(
        "checks-config",
        sh('[ -f "$MODEL_PATH/config.json" ] || { echo "no weights" >&2; exit 1; }\n' + SERVE),
    ),
    case(
        "reads-config",
        sh(
            """
            LEN=$(python3 -c 'import json, os; print(json.load(open(os.environ["MODEL_PATH"] + "/config.json"))["max_position_embeddings"])')
            exec vllm serve "$MODEL_PATH" --max-model-len "$LEN"
            """
        ),
    ),
    case(
        "ray-local", sh('ray start --head --num-cpus 8\nexec vllm serve "$MODEL_PATH" --port 8000')
    ),
    case("numactl", sh('exec numactl --cpunodebind=0 --membind=0 vllm serve "$MODEL_PATH"')),
    case("env-prefix", sh('exec env OMP_NUM_THREADS=1 vllm serve "$MODEL_PATH"')),
    case("subshell", sh('(cd / && exec vllm serve "$MODEL_PATH" --port 8000)')),
    case("fallback", sh('vllm serve "$MODEL_PATH" --port 8000 || exit 1')),
    case(
        "copy",
        sh(
            'cp -r "$MODEL_PATH" /tmp/m && exec vllm serve /tmp/m --served-model-name "$MODEL_PATH"'
        ),
    ),
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
        sh(
            '[ "$(id -u)" -ne 0 ] && SUDO=sudo\n$SUDO apt-get update\nexec vllm serve "$MODEL_PATH"'
        ),
    ),
    case("shell-in-shell", sh("exec bash -lc 'vllm serve \"$MODEL_PATH\" --port 8000'")),
    case("xargs", sh("printf '%s\\0' serve \"$MODEL_PATH\" --port 8000 | xargs -0 vllm")),
    case("empty-environment", sh('exec env -i MODEL_PATH="$MODEL_PATH" vllm serve "$MODEL_PATH"')),
    case(
        "make",
        sh("make serve"),
        files={"Makefile": 'serve:\n\tvllm serve "$$MODEL_PATH" --port 8000\n'},
    ),
    case(
        "getopts",
        sh('P=8000\nwhile getopts p: o; do P=$OPTARG; done\nvllm serve "$MODEL_PATH" --port $P'),
    ),
    case(
        "json-with-a-port",
        sh('vllm serve "$MODEL_PATH" --additional-config \'{"port": 9999}\' --port 8000'),
    ),
    case(
        "data-parallel",
        sh(
            'vllm serve "$MODEL_PATH" -dp 2 &\nvllm serve "$MODEL_PATH" --headless -dp 2 -dpr 1 &\nwait'
        ),
    ),
)

ENGINES: tuple[Case, ...] = (
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
        {"plan/self-contained": "warn"},
    ),
    case(
        "sglang",
        sh('python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000'),
        {"plan/self-contained": "warn"},
    ),
    case(
        "lmdeploy",
        sh('lmdeploy serve api_server "$MODEL_PATH" --server-name 0.0.0.0 --server-port 8000'),
        {"plan/self-contained": "warn"},
    ),
    case(
        "llama.cpp",
        sh(
            'llama-server -m "$MODEL_PATH/model.gguf" --alias "$MODEL_PATH" --host 0.0.0.0 --port 8000'
        ),
        {"plan/self-contained": "warn"},
    ),
    case(
        "llama-cpp-python",
        sh(
            'python3 -m llama_cpp.server --model "$MODEL_PATH/model.gguf" --model_alias "$MODEL_PATH" '
            "--host 0.0.0.0 --port 8000"
        ),
        {"plan/self-contained": "warn"},
    ),
    case(
        "llama-factory",
        sh(
            """
            export API_HOST=0.0.0.0 API_PORT=8000
            export API_MODEL_NAME="$MODEL_PATH"
            exec llamafactory-cli api --model_name_or_path "$MODEL_PATH"
            """
        ),
        files={"requirements.txt": "llamafactory==0.9.3\n"},
    ),
)
