"""Right deploy.sh repositories whose server is started by Python code."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

OWN_SERVER = {"plan/served-name": "warn"}
"""A server of one's own: under which names it answers is found out when it is launched."""

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
            for _ in range(1000):
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
        "python-click-short-option",
        sh("exec python3 run.py -h 0.0.0.0"),
        files={
            "run.py": """
            import os, click
            @click.command()
            @click.option("--host", "-h", default="127.0.0.1")
            def main(host):
                os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--host", host, "--port", "8000"])
            main()
            """
        },
    ),
    case(
        "python-click-argument",
        sh('exec python3 run.py "$MODEL_PATH"'),
        files={
            "run.py": """
            import os, click
            @click.command()
            @click.argument("model")
            @click.option("--eager", is_flag=True)
            def main(model, eager):
                os.execvp("vllm", ["vllm", "serve", model, *(["--enforce-eager"] if eager else [])])
            main()
            """
        },
    ),
    case(
        "python-click-group",
        sh("exec python3 run.py --quiet serve-model --port 7000"),
        files={
            "run.py": """
            import os, click
            @click.group()
            @click.option("--quiet", is_flag=True)
            @click.pass_context
            def cli(context, quiet):
                context.obj = {"quiet": quiet}
            @cli.command()
            @click.option("--port", default=0, type=int)
            @click.option("--model", envvar="MODEL_PATH", required=True)
            def serve_model(port, model):
                os.execvp("vllm", ["vllm", "serve", model, "--port", str(port + 1000)])
            @cli.group("tools")
            def tools():
                raise RuntimeError("not asked for")
            if __name__ == "__main__":
                cli()
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
        {"plan/guarded-main": "fail"},
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
        {"plan/self-contained": "warn"},
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
            from vllm.utils.argparse_utils import FlexibleArgumentParser
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
