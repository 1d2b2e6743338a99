"""Repositories as they are published: tutorials turned into scripts, servers of one's own, addresses found out."""

from __future__ import annotations

from tests.plan.corpus import UNKNOWN, Case, bash, case, sh

SERVE = 'vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000\n'
UNNAMED = {"plan/served-name": "warn"}
NOT_SHIPPED = {"plan/starts-server": "fail", "plan/self-contained": "fail"}
OF_THE_IMAGE = {**UNKNOWN, "plan/self-contained": "warn"}
SOURCES = {"setup.py": "from setuptools import setup\nsetup(name='x')\n"}
AIOHTTP = """
    import asyncio, os
    from aiohttp import web
    from vllm import AsyncEngineArgs, AsyncLLMEngine
    routes = web.RouteTableDef()
    @routes.post("{route}")
    async def chat(request):
        return web.Response()
    async def main():
        app = web.Application()
        app["engine"] = AsyncLLMEngine.from_engine_args(AsyncEngineArgs(model=os.environ["MODEL_PATH"]))
        app.add_routes(routes)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "0.0.0.0", {port}).start()
        await asyncio.Event().wait()
    asyncio.run(main())
"""
FASTAPI = """
    import os
    from fastapi import FastAPI
    from transformers import AutoModelForCausalLM
    model = AutoModelForCausalLM.from_pretrained(os.environ["MODEL_PATH"])
    app = FastAPI()
    @app.post("/v1/chat/completions")
    def chat():
        return {}
"""
STARLETTE = """
    import os
    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount, Route
    from vllm import LLM
    llm = LLM(os.environ["MODEL_PATH"])
    async def chat(request):
        return None
    app = Starlette(routes=[Mount("/v1", routes=[Route("/chat/completions", chat, methods=["POST"])])])
    uvicorn.run(app, host="0.0.0.0", port=8000)
"""
TORNADO = """
    import os
    import tornado.ioloop
    import tornado.web
    from vllm import LLM
    llm = LLM(os.environ["MODEL_PATH"])
    class Chat(tornado.web.RequestHandler):
        pass
    app = tornado.web.Application([(r"/v1/chat/completions/?", Chat)])
    app.listen(8000)
    tornado.ioloop.IOLoop.current().start()
"""
BLUEPRINT = """
    import os
    from flask import Blueprint, Flask
    from vllm import LLM
    llm = LLM(os.environ["MODEL_PATH"])
    v1 = Blueprint("v1", __name__)
    @v1.route("/chat/completions", methods=["POST"])
    def chat():
        return ""
    app = Flask(__name__)
    app.register_blueprint(v1, url_prefix="{prefix}")
    app.run("0.0.0.0", 8000)
"""
OWN_ADDRESS = """
    import os, socket
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward:
        outward.connect(("8.8.8.8", 80))
        address = outward.getsockname()[0]
    assert address == socket.gethostbyname(socket.gethostname())
    os.environ["HCCL_IF_IP"] = address
    os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", "8000"])
"""

RIGHT_PUBLISHED: tuple[Case, ...] = (
    case("aiohttp-site", sh("python3 s.py"), UNNAMED, files={"s.py": AIOHTTP.format(route="/v1/chat/completions", port=8000)}),
    case("starlette-mount", sh("python3 s.py"), UNNAMED, files={"s.py": STARLETTE}),
    case("tornado-pattern", sh("python3 s.py"), UNNAMED, files={"s.py": TORNADO}),
    case("blueprint-prefix", sh("python3 s.py"), UNNAMED, files={"s.py": BLUEPRINT.format(prefix="/v1")}),
    case("fastapi-run", sh("fastapi run app.py --port 8000"), UNNAMED, files={"app.py": FASTAPI}),
    case(
        "gunicorn-configured", sh("exec gunicorn -c gunicorn.conf.py app:app"), UNNAMED,
        files={
            "app.py": FASTAPI,
            "gunicorn.conf.py": "import os\nbind = f\"0.0.0.0:{os.getenv('PORT', '8000')}\"\n",
        },
    ),
    case("own-address-python", sh("python3 run.py"), files={"run.py": OWN_ADDRESS}),
    case(
        "own-address-shell",
        bash(
            """
            set -eu
            nic=$(ip route show default | awk '{print $5}')
            local_ip=$(hostname -I | awk '{print $1}')
            [ "$(ip -4 addr show "$nic" | awk '/inet /{print $2}' | cut -d/ -f1)" = "$local_ip" ]
            export HCCL_IF_IP=$local_ip GLOO_SOCKET_IFNAME=$nic TP_SOCKET_IFNAME=$nic
            """
             "            "
            + SERVE
        ),
    ),
    case(
        "patched-copy",
        bash(
            """
            cp -r "$MODEL_PATH" /tmp/model
            echo '{"architectures": ["Qwen3ForCausalLM"], "max_position_embeddings": 1024}' > /tmp/model/config.json
            vllm serve /tmp/model --served-model-name "$MODEL_PATH" --port 8000
            """
        ),
    ),
    case("asks-for-packages", bash('pip list | grep -q "^vllm-ascend " || exit 1\npip freeze | grep torch-npu || exit 1\n' + SERVE)),
    case("asks-for-the-commit", sh("set -e\necho $(git rev-parse --short HEAD)\n. ~/.bashrc\n" + SERVE)),
    case("draft-in-the-weights", bash('vllm serve "$MODEL_PATH" --port 8000 --speculative-config ' + """'{"method": "mtp", "num_speculative_tokens": 1}'""")),
    case("draft-by-n-grams", bash('vllm serve "$MODEL_PATH" --port 8000 --speculative-config ' + """'{"model": "[ngram]", "num_speculative_tokens": 1}'""")),
    case("numactl-words", sh("PRE='numactl -N 0 -m 0'\n$PRE " + SERVE)),
    case("taskset-mask", sh("taskset 0x3 " + SERVE)),
    case("wheel-shipped", sh("set -e\npip install ./wheels/a-1.0-py3-none-any.whl\n" + SERVE), files={"wheels/a-1.0-py3-none-any.whl": "-"}),
    *(
        case(f"pip-after-{name}", sh(f"set -e\n{steps}\n{SERVE}"), files=SOURCES)
        for name, steps in {
            "download": "pip download foo -d w\npip install --no-index --find-links w foo\npip install w/*.whl",
            "wheel": "pip wheel . -w dist\npip install ./dist/x-1.0-py3-none-any.whl",
            "build": "python3 -m build --wheel\npip install dist/x-1.0-py3-none-any.whl",
            "setup": "python3 setup.py bdist_wheel\npip install dist/x-1.0-py3-none-any.whl",
            "submodule": "git submodule update --init\npip install -e ./third/foo",
            "checkout-of-an-install": "pip install -e git+https://example.org/a.git#egg=a\npip install -r src/a/need.txt",
        }.items()
    ),
    *(
        case(f"pip-after-{name}", sh(f"set -e\n{steps}\n{SERVE}"), {"plan/self-contained": "warn"}, files=SOURCES)
        for name, steps in {
            "curl": "curl -L https://example.org/a.tgz -o /tmp/a.tgz\npip install ./a",
            "wget": "wget -P w https://example.org/a-1.0-py3-none-any.whl\npip install w/a-1.0-py3-none-any.whl",
            "clone": "git clone https://example.org/a/foo.git\n(cd foo; pip install -r requirements.txt)",
        }.items()
    ),
    case("pip-of-the-image", sh("""
        set -e
        pip install /usr/local/Ascend/ascend-toolkit/latest/lib64/te-0.4.0-py3-none-any.whl
        pip install -r /vllm-workspace/vllm-ascend/requirements.txt -e "/vllm-workspace/vllm[audio]"
        pip install ../beside/a-1.0-py3-none-any.whl wheels/*.whl wheels/a-[0-9].whl
        """) + SERVE, {"plan/self-contained": "warn"}, says="a place in the official vllm-ascend image"),
    case(
        "folder-of-the-image", sh("set -e\ncd /vllm-workspace/vllm-ascend\n" + SERVE), {"plan/self-contained": "warn"},
        says="a place in the official vllm-ascend image",
    ),
    case(
        "file-of-the-image", sh("set -e\ncd /vllm-workspace/vllm-ascend\n. tools/env.sh\n" + SERVE),
        OF_THE_IMAGE, says="its folders are empty",
    ),
    *(
        case(f"file-of-the-image-after-{name}", bash(f"set -e\n{steps}\n. tools/env.sh\n" + SERVE),
             OF_THE_IMAGE, says="its folders are empty")
        for name, steps in {
            "a-function": "enter() {\n  cd /vllm-workspace/vllm-ascend\n}\nenter",
            "a-function-in-bash": "function enter { local x=1; cd /vllm-workspace/vllm-ascend; }\nenter now || exit 1",
            "two-functions": "out() { cd /; }\nenter()\n{\n  cd /vllm-workspace/vllm\n}\nout; enter",
        }.items()
    ),
    case(
        "script-of-the-image", sh("set -e\ncd /vllm-workspace/vllm-ascend && bash examples/run.sh\n" + SERVE),
        OF_THE_IMAGE, says="its folders are empty", fix="remove it",
    ),
    *(
        case(f"{name}-of-the-image", sh(text), {"plan/self-contained": "warn"},
             says="a place in the official vllm-ascend image")
        for name, text in {
            "work-folder": "set -e\ncd /workspace\n" + SERVE,
            "log-in-the-work-folder": "set -e\ncd /workspace; echo x > run.log\n" + SERVE,
            "sources": "set -e\ncd /vllm-workspace\n" + SERVE,
            "folder-in-a-variable": 'W=/vllm-workspace; cd "$W/vllm-ascend"\n' + SERVE,
            "folder-asked-for": f"if [ -d /vllm-workspace ]; then exec {SERVE.strip()}; fi\nexit 1",
            "folder-in-a-function": f"w() {{ cd /vllm-workspace/vllm; }}\nw\n{SERVE}",
        }.items()
    ),
    case("folder-of-the-image-in-a-helper", sh("set -e\n. ./go.sh\n" + SERVE), {"plan/self-contained": "warn"},
         files={"go.sh": "cd /vllm-workspace/vllm\n"}, says="in /vllm-workspace/vllm"),
    *(
        case(f"work-folder-{name}", sh(f"set -e\n{step}\n{SERVE}"))
        for name, step in {
            "made": "mkdir -p /workspace/cache && cd /workspace/cache",
            "of-its-own": 'mkdir -p "$HOME/workspace" my-workspace; cd "$HOME/workspace"; echo /workspaces',
            "said": 'echo "no need of /workspace"',
        }.items()
    ),
    case(
        "pip-goes-on", sh("pip install -r requirements.txt\n" + SERVE), {"plan/self-contained": "warn"},
        says="requirements.txt",
    ),
    *(
        case(f"system-packages-{name}", sh(f"set -e\n{steps}\n{SERVE}"))
        for name, steps in {
            "or-not": "apt-get install -y \\\n  numactl \\\n  || true",
            "asked": "if ! apt-get install -y numactl; then echo without; fi",
            "between": "set +e\napt-get install -y numactl\nset -e",
        }.items()
    ),
    *(
        case(f"system-packages-{name}", bash(f"{steps}\n{SERVE}"), {"plan/self-contained": "warn"}, says="deploy.sh:4")
        for name, steps in {
            "needed": "set -o pipefail -e\n\napt-get install -y numactl",
            "needed-again": "set -e; set +e\nset -eu\napt-get install -y numactl",
        }.items()
    ),
    *(
        case(f"installs-again-{name}", sh(f"P=torch-npu\npip uninstall -y $P\n{step}\n{SERVE}"),
             {"plan/self-contained": "warn"}, says="and installed again", files={"w/torch_npu-2.7.1-cp311-none.whl": "-"})
        for name, step in {
            "pinned": "pip install --no-deps torch-npu==2.7.1",
            "wheel": "python3 -m pip install ./w/torch_npu-2.7.1-cp311-none.whl",
            "archive": "pip install https://code.example.org/ascend/torch-npu/archive/refs/tags/v2.7.1.tar.gz",
            "glued": "pip install -e/opt/torch-npu",
        }.items()
    ),
    case("tokenizer-after-all", sh('vllm serve "$MODEL_PATH" --skip-tokenizer-init --no-skip-tokenizer-init'), {"plan/flags": "warn"}),
    case("tokenizer-after-the-file", sh('vllm serve "$MODEL_PATH" --config c.yaml --no-skip-tokenizer-init'),
         files={"c.yaml": "skip-tokenizer-init: true\n"}),
    case("draft-shipped", sh('vllm serve "$MODEL_PATH" --speculative-config.model=./draft --speculative-config.num_speculative_tokens 2'),
         files={"draft/config.json": "{}"}),
    case(
        "found-host", sh('vllm serve "$MODEL_PATH" --host $(hostname -i) --port 8000'), {"plan/host": "warn"},
        says="the machine's own address",
    ),
    case(
        "found-name", bash('vllm serve "$MODEL_PATH" --host "$HOSTNAME" --port 8000'), {"plan/host": "warn"},
        says="the machine's own address",
    ),
)  # fmt: skip

WRONG_PUBLISHED: tuple[Case, ...] = (
    case(
        "aiohttp-site-port", sh("python3 s.py"), {**UNNAMED, "plan/port": "fail"},
        files={"s.py": AIOHTTP.format(route="/v1/chat/completions", port=9000)}, says="port 9000",
    ),
    case(
        "aiohttp-site-route", sh("python3 s.py"), {"plan/chat-api": "fail"},
        files={"s.py": AIOHTTP.format(route="/api/v1/chat/completions", port=8000)},
    ),
    case(
        "blueprint-elsewhere", sh("python3 s.py"), {"plan/chat-api": "fail"},
        files={"s.py": BLUEPRINT.format(prefix="/api")},
    ),
    case(
        "gunicorn-configured-port", sh("exec gunicorn -c conf.py app:app"), {**UNNAMED, "plan/port": "fail"},
        files={"app.py": FASTAPI, "conf.py": "bind = ['0.0.0.0:9000']\n"}, says="port 9000",
    ),
    case(
        "another-server-configured-port", sh("exec hypercorn app:app --bind 0.0.0.0:9000"), {**UNNAMED, "plan/port": "fail"},
        files={"app.py": FASTAPI}, says="port 9000",
    ),
    case("wheel-missing", sh("set -e\npip install ./wheels/a-1.0-py3-none-any.whl\n" + SERVE), NOT_SHIPPED, says="a-1.0"),
    case("editable-missing", sh("set -e\npython3 -m pip install -e ./plugin\n" + SERVE), NOT_SHIPPED, says="plugin"),
    case(
        "wheelhouse-missing", sh("set -e\nuv pip install --no-index --find-links=wheels -r need.txt\n" + SERVE),
        NOT_SHIPPED, says="need.txt",
    ),
    *(
        case(f"wheel-missing-after-{name}", sh(f"set -e\n{step}\npip install wheels/a-1.0-py3-none-any.whl\n{SERVE}"),
             NOT_SHIPPED, says="a-1.0")
        for name, step in {
            "asking": "npu-smi info\nvllm --version\ngit rev-parse HEAD\npip list\ncurl --version",
            "others": "apt-get update\napt-get install -y libnuma1\npip install einops\npython3 -m pip install -U pip",
            "venv": "python3 -m venv .venv\n. .venv/bin/activate\nexport PATH",
            "python": "python3 -c 'import json, os; print(os.getcwd())'",
        }.items()
    ),
    case("extras-missing", sh('set -e\ncd sub\npip install "$(pwd)/plugin[fast]"\n' + SERVE), NOT_SHIPPED, says="plugin",
         files={"sub/a.txt": ""}),
    case(
        "draft-elsewhere",
        sh("""vllm serve "$MODEL_PATH" --port 8000 --speculative-config '{"model": "/data/eagle3"}'"""),
        {"plan/self-contained": "fail"}, says="/data/eagle3",
    ),
    *(
        case(f"draft-elsewhere-dotted-{at}", sh(f'vllm serve "$MODEL_PATH" --port 8000 {option}'),
             {"plan/self-contained": "fail"}, says="/data/eagle3")
        for at, option in enumerate(("--speculative-config.model /data/eagle3", "--speculative_config.model=/data/eagle3"))
    ),
    *(
        case(f"draft-{name}", sh("""vllm serve "$MODEL_PATH" --speculative-config '{{"method": "{}", "model": "{}"}}'""".format(*words)),
             expected, says=words[1])
        for name, words, expected in (
            ("placeholder", ("eagle3", "your_eagle3_model_path"), {"plan/self-contained": "fail"}),
            ("placeholder-of-a-hub", ("eagle3", "your-org/your-model"), {"plan/self-contained": "fail"}),
            ("bare-name", ("eagle3", "qwen3_eagle3"), {"plan/self-contained": "warn"}),
        )
    ),
    case("tokenizer-skipped-last", sh('vllm serve "$MODEL_PATH" --no-skip-tokenizer-init --skip-tokenizer-init'),
         {"plan/chat-api": "fail", "plan/flags": "warn"}),
    case("uninstalls", sh("pip install -q torch-npu-tools torch\npip uninstall -y torch_npu\npip install vllm-plugin\n" + SERVE),
         {"plan/self-contained": "fail"}, says="it is removed"),
    case("uninstalls-and-lists-another", sh("pip uninstall -y vllm\npip install -r requirements.txt\n" + SERVE),
         {"plan/self-contained": "fail"}, files={"requirements.txt": "# vllm\nvllm-plugin==1\n"}, says="it is removed"),
    *(
        case(f"reinstalls-by-{name}", sh(f"pip uninstall -y vllm torch_npu\n{again}\n{SERVE}"), {"plan/self-contained": "warn"},
             files={"requirements.txt": "# ours\nvllm==0.23.0\nTorch-NPU==2.10.0\n", "vllm/setup.py": "", "vllm/pyproject.toml": ""},
             says="and installed again: pip")
        for name, again in {
            "a-list": "pip install -r requirements.txt",
            "a-list-elsewhere": "cp requirements.txt /tmp/all.txt\npip install -q --requirement=/tmp/all.txt",
            "its-folder": "pip install torch_npu\ncd vllm\npip install -e .",
        }.items()
    ),
    *(
        case(f"own-file-after-{name}", bash(f"{steps}\n. ./env.sh\nexec {SERVE}"),
             {"plan/self-contained": "fail", "plan/starts-server": "warn"}, says="env.sh", fix="commit env.sh")
        for name, steps in {
            "a-subshell": "(\ncd /vllm-workspace/vllm\n)",
            "a-subshell-on-one-line": "(cd /vllm-workspace/vllm && case x in y) true ;; esac)",
            "a-function": "prepare() {\n  cd /vllm-workspace/vllm\n}\n(prepare)",
            "a-visit": "cd /vllm-workspace/vllm\ncd -",
            "a-function-not-called": "prepare() {\n  cd /vllm-workspace/vllm\n}",
            "a-function-in-a-pipe": "prepare() { cd /vllm-workspace/vllm; }\nprepare | cat",
        }.items()
    ),
    case(
        "adapter-elsewhere", sh('vllm serve "$MODEL_PATH" --port 8000 --enable-lora --lora-modules a=/data/lora'),
        {"plan/self-contained": "fail", "plan/served-name": "warn"}, says="/data/lora",
    ),
    case(
        "fixed-address", sh('vllm serve "$MODEL_PATH" --host 192.168.1.17 --port 8000'), {"plan/host": "fail"},
        says="192.168.1.17",
    ),
    case(
        "address-of-a-container", sh('vllm serve "$MODEL_PATH" --host 172.17.0.2 --port 8000'), {"plan/host": "fail"},
        says="the fixed address 172.17.0.2",
    ),
)  # fmt: skip
