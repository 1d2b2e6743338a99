"""deploy.sh repositories about programs that a spawned engine imports again, and about `python -m supervisor`."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case
from tests.plan.corpus_supervisord import SERVE, START, supervised

BY_MODULE = START.replace("exec supervisord", "exec python3 -m supervisor.supervisord")

HERE = 'cd "$(dirname "$0")"'
SPAWN = f"export VLLM_WORKER_MULTIPROC_METHOD=spawn\n{HERE}\nexec python3 serve.py"
FORK = f"{HERE}\nexec python3 serve.py"
FAILS = {"plan/guarded-main": "fail"}
PREPARES = """
import asyncio, os
from vllm.entrypoints.openai.api_server import run_server
from vllm.entrypoints.openai.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
parser = make_arg_parser(FlexibleArgumentParser())
args = parser.parse_args(["--model", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"])
"""
PLAIN = f"{PREPARES}asyncio.run(run_server(args))\n"
GUARDED = f"{PREPARES}if __name__ == '__main__':\n    asyncio.run(run_server(args))\n"
IN_A_FUNCTION = f"{PREPARES}def start():\n    asyncio.run(run_server(args))\n\n\nstart()\n"
LEAVES_EARLY = f"import sys\nif __name__ != '__main__':\n    sys.exit(0)\n{PREPARES}asyncio.run(run_server(args))\n"
BY_ENVIRON = "import os\nos.environ['VLLM_WORKER_MULTIPROC_METHOD'] = 'spawn'\n" + PLAIN
COMMAND = """
import os, sys
from vllm.entrypoints.cli.main import main
sys.argv = ["vllm", "serve", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"]
"""
ENGINE = """
import os
import uvicorn
from fastapi import FastAPI
from vllm import AsyncEngineArgs, AsyncLLMEngine
engine = AsyncLLMEngine.from_engine_args(AsyncEngineArgs(model=os.environ["MODEL_PATH"]))
app = FastAPI()
@app.post("/v1/chat/completions")
def chat(body: dict):
    return {}
"""
RUNS = '{ENGINE}uvicorn.run(app, host="0.0.0.0", port=8000)\n'.replace("{ENGINE}", ENGINE)
GIVES_NO_NAME = {"plan/served-name": "warn"}
LOADS = 'import os\nfrom vllm import LLM\nLLM(model=os.environ["MODEL_PATH"])\n'
ONCE = (
    f"export VLLM_WORKER_MULTIPROC_METHOD=spawn\n{HERE}\npython3 load.py\n"
    'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
)

PROJECT = 'set -e\ncd "$(dirname "$0")"\npip install --no-deps ./guard\n'
GUARD = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 --logits-processors math_guard.steps:Keep'
SETUP = 'from setuptools import find_packages, setup\nsetup(\n    name="math-steps",\n    packages={packages},\n)\n'
CODE = {
    "guard/src/math_guard/__init__.py": "",
    "guard/src/math_guard/steps.py": "class Keep:\n    pass\n",
}
NOT_INSTALLED = {"plan/no-missing-modules": "fail", "plan/self-contained": "fail"}


def setup_py(packages: str, more: dict[str, str] | None = None) -> dict[str, str]:
    return {"guard/setup.py": SETUP.format(packages=packages), **CODE, **(more or {})}


WRONG_KINDS2: tuple[Case, ...] = (
    *(
        case(f"unguarded-{name}", bash(deploy), expected, files=files, says=says, fix=fix)
        for name, deploy, expected, files, says, fix in (
            ("server", SPAWN, FAILS, {"serve.py": PLAIN}, "serve.py:7", 'if __name__ == "__main__": asyncio.run(run_server(args))'),
            ("function", SPAWN, FAILS, {"serve.py": IN_A_FUNCTION}, "serve.py:11", 'if __name__ == "__main__": start()'),
            ("with-more-below", SPAWN, FAILS, {"serve.py": f"{PLAIN}print('over')\n"}, "serve.py:7", "indent the rest"),
            ("spawn-by-environ", FORK, FAILS, {"serve.py": BY_ENVIRON}, "serve.py:10", ""),
            ("spawn-by-set-up", FORK, FAILS, {"serve.py": PLAIN.replace("asyncio.run", "from vllm.entrypoints.openai.api_server import cli_env_setup\ncli_env_setup()\nasyncio.run")}, "serve.py:9", ""),
            ("command", FORK, FAILS, {"serve.py": f"{COMMAND}main()\n"}, "main runs whenever", 'if __name__ == "__main__": main()'),
            ("module", f"export VLLM_WORKER_MULTIPROC_METHOD=spawn\n{HERE}\nexec python3 -m app.serve", FAILS,
             {"app/serve.py": PLAIN, "app/__init__.py": ""}, "app/serve.py:7", ""),
            ("engine", SPAWN, {**FAILS, **GIVES_NO_NAME}, {"serve.py": RUNS}, "AsyncLLMEngine runs whenever", ""),
            ("trial", ONCE, FAILS, {"load.py": LOADS}, "LLM runs whenever", ""),
        )
    ),
    case("src-is-left-out", bash(PROJECT + GUARD), NOT_INSTALLED, files=setup_py("find_packages()"),
         says="guard/setup.py:4", fix='write there: packages=find_packages("src"), package_dir={"": "src"},'),
    case("src-is-left-out-by-e", bash(PROJECT.replace("./guard", "-e guard") + GUARD), NOT_INSTALLED,
         files=setup_py("find_packages()"), says="math_guard is in src"),
    case("src-is-left-out-of-its-name", bash(PROJECT.replace("./guard", "./math_guard") + GUARD), NOT_INSTALLED,
         files={name.replace("guard/", "math_guard/", 1): text for name, text in setup_py("find_packages()").items()},
         says="math_guard/setup.py:4"),
    supervised("by-module-no-shell", "vllm serve $MODEL_PATH --port 8000", {"plan/model-path": "fail"}, deploy=BY_MODULE,
               says="without a shell", fix="write %(ENV_MODEL_PATH)s in place of $MODEL_PATH"),
    supervised("by-module-not-installed", SERVE, {"plan/starts-server": "fail"},
               deploy='cd "$(dirname "$0")"\nexec python3 -m supervisor.supervisord -n -c supervisord.conf',
               says="No module named supervisor"),
)  # fmt: skip
RIGHT_KINDS2: tuple[Case, ...] = (
    *(
        case(f"guarded-{name}", bash(deploy), expected, files=files)
        for name, deploy, expected, files in (
            ("server", SPAWN, None, {"serve.py": GUARDED}),
            ("function", SPAWN, None, {"serve.py": IN_A_FUNCTION.replace("start()\n", "") + GUARDED}),
            ("by-leaving-early", SPAWN, None, {"serve.py": LEAVES_EARLY}),
            ("command", FORK, None, {"serve.py": f"{COMMAND}if __name__ == '__main__':\n    main()\n"}),
            ("package", f"export VLLM_WORKER_MULTIPROC_METHOD=spawn\n{HERE}\nexec python3 -m app", None,
             {"app/__main__.py": PLAIN, "app/__init__.py": ""}),
            ("standard-input", f"export VLLM_WORKER_MULTIPROC_METHOD=spawn\n{HERE}\nexec python3 < serve.py", None,
             {"serve.py": PLAIN}),
            ("trial-in-process", ONCE.replace("\n", "\nexport VLLM_ENABLE_V1_MULTIPROCESSING=0\n", 1), None, {"load.py": LOADS}),
            ("app", f"export VLLM_WORKER_MULTIPROC_METHOD=spawn\n{HERE}\nexec uvicorn serve:app --host 0.0.0.0 --port 8000",
             GIVES_NO_NAME, {"serve.py": ENGINE}),
            ("by-fork", FORK, None, {"serve.py": PLAIN}),
            ("by-a-named-fork", SPAWN.replace("=spawn", "=fork"), None, {"serve.py": PLAIN}),
        )
    ),
    case("src-by-where", bash(PROJECT + GUARD), files=setup_py('find_packages("src"), package_dir={"": "src"}')),
    case("src-by-a-list", bash(PROJECT + GUARD), files=setup_py('["math_guard"], package_dir={"": "src"}')),
    case("src-by-pyproject", bash(PROJECT + GUARD), files=setup_py("find_packages()", {
        "guard/pyproject.toml": '[project]\nname = "math-steps"\nversion = "1"\n'})),
    case("src-on-the-path", bash(f'{PROJECT}export PYTHONPATH="$PWD/guard/src:$PYTHONPATH"\n{GUARD}'),
         files=setup_py("find_packages()")),
    case("no-src", bash(PROJECT + GUARD), files={
        name.replace("/src", ""): text for name, text in setup_py("find_packages()").items()}),
    supervised("by-module", deploy=BY_MODULE),
)  # fmt: skip
