"""deploy.sh repositories about another engine that is asked for, packages without an index, and shadowed modules."""

from __future__ import annotations

from tests.plan.corpus import UNKNOWN, Case, bash, case, sh

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
LMDEPLOY = 'exec lmdeploy serve api_server "$MODEL_PATH" --server-port 8000'
SGLANG = (
    'exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000'
)
NEVER = {"plan/starts-server": "fail"}
NO_PROGRAM = {**UNKNOWN, "plan/self-contained": "unsettled"}
_ASKED = "lmdeploy is unknown: the official vllm-ascend image does not have it"

_WRONG_ENGINES: tuple[Case, ...] = (
    *(
        case(
            f"asks-for-an-engine-{name}",
            shell(body),
            expected,
            says=says,
            fix="install it in deploy.sh",
        )
        for name, shell, body, expected, says in (
            (
                "and-ends",
                bash,
                f'command -v lmdeploy >/dev/null || {{ echo "lmdeploy is not in this image" >&2; exit 1; }}\n{LMDEPLOY}',
                UNKNOWN,
                _ASKED,
            ),
            (
                "under-sh",
                sh,
                f"if ! which lmdeploy > /dev/null; then\n  exit 1\nfi\n{LMDEPLOY}",
                UNKNOWN,
                _ASKED,
            ),
            (
                "by-variable",
                bash,
                f'LM=$(command -v lmdeploy || true)\n[ -n "$LM" ] || exit 3\n{LMDEPLOY}',
                UNKNOWN,
                _ASKED,
            ),
            (
                "and-starts-its-module",
                bash,
                f"set -e\ncommand -v sglang\n{SGLANG}",
                UNKNOWN,
                "sglang is unknown",
            ),
            (
                "without-an-error",
                sh,
                f"if command -v lmdeploy; then\n  {LMDEPLOY}\nfi",
                UNKNOWN,
                _ASKED,
            ),
            (
                "of-two",
                bash,
                f"if command -v sglang; then {SGLANG}\nelif command -v lmdeploy; then {LMDEPLOY}\nelse exit 1; fi",
                UNKNOWN,
                "lmdeploy, sglang is unknown",
            ),
            (
                "and-goes-on",
                sh,
                f"command -v lmdeploy || echo trying anyway\n{LMDEPLOY}",
                NO_PROGRAM,
                _ASKED,
            ),
        )
    ),
    case(
        "asks-for-an-engine-and-for-a-token",
        bash(f'command -v sglang || pip install sglang\ntest "$SEAT" = 4 || exit 1\n{SGLANG}'),
        NEVER,
    ),
    case(
        "asks-for-an-engine-and-starts-nothing",
        sh("command -v sglang && echo sglang is there\necho done"),
        NEVER,
    ),
)

OFFLINE = 'ROOT="$(cd "$(dirname "$0")" && pwd)"\ncd "$ROOT"'
FROM_WHEELS = 'pip install --no-index --find-links="$ROOT/wheels" -r requirements.txt'
WHEEL = "wheels/our_adapter-1.0-py3-none-any.whl"
OURS = {"requirements.txt": "our-adapter==1.0\nopenai  # the image has it\n"}
_NO_WHEEL = "pip fails for our-adapter: wheels has no wheel of it in the commit"

_WRONG_OFFLINE: tuple[Case, ...] = (
    case("offline-ignored-wheels", bash(f"set -e\n{OFFLINE}\n{FROM_WHEELS}\n{SERVE}"), UNKNOWN,
         files={**OURS, ".gitignore": "wheels/\n"}, untracked={WHEEL: "-"},
         says="pip fails for our-adapter: wheels has no wheel", fix="git add -f wheels && git commit -m 'Add wheels'"),
    *(
        case(f"offline-{name}", bash(f"{OFFLINE}\n{line}\n{SERVE}"), expected, files={**OURS, **files}, says=says, fix=fix)
        for name, line, expected, files, says, fix in (
            ("no-folder-in-the-commit", f"{FROM_WHEELS} || exit 1", UNKNOWN, {}, _NO_WHEEL, "pip download -d wheels our-adapter"),
            ("tested-by-if", f"if ! {FROM_WHEELS}; then\n  echo no wheels; exit 1\nfi", UNKNOWN, {}, _NO_WHEEL, ""),
            ("by-variable", "set -e\nexport PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels\npip install our_adapter", UNKNOWN,
             {"wheels/other-1.0-py3-none-any.whl": "-"}, "pip fails for our_adapter: wheels has no wheel", "pip download"),
            ("options-in-the-file", "set -e\npython3 -m pip install -q -r offline.txt", UNKNOWN,
             {"offline.txt": "--no-index\n--find-links wheels\nour-adapter>=1 \\\n  --hash=sha256:0\n"}, "pip fails for our-adapter", ""),
            ("without-a-folder", "set -e\npip install --no-index our-adapter", UNKNOWN, {}, "no --find-links names a folder",
             "pass it to pip as --find-links"),
            ("whatever-is-installed", "set -e\npip install --no-index --force-reinstall -f wheels our-adapter", NEVER, {},
             "ended with status 1: pip fails for our-adapter: wheels", "pip download -d wheels our-adapter"),
            ("what-needs-cuda", "set -e\npip install --no-index -f wheels flash-attn", NEVER, {}, "pip fails for flash-attn", ""),
            ("goes-on-without-a-wheel", "pip install --no-index --target lib -f wheels our-adapter", {"plan/starts-server": "warn"}, {},
             "the script continues without it", "pip download"),
        )
    ),
)  # fmt: skip
_RIGHT_OFFLINE: tuple[Case, ...] = tuple(
    case(f"offline-{name}", bash(f"set -e\n{OFFLINE}\n{steps}\n{SERVE}"), files=files)
    for name, steps, files in (
        ("committed-wheels", FROM_WHEELS, {"requirements.txt": "Our.Adapter==1.0\n", WHEEL: "-"}),
        (
            "committed-archive",
            "pip install --no-index -f wheels our_adapter",
            {"wheels/our-adapter-1.0.tar.gz": "-"},
        ),
        (
            "what-the-image-has",
            "PIP_NO_INDEX=true pip install -r more.txt",
            {"more.txt": "openai\ntransformers\npyzmq\n"},
        ),
        ("installed-before", "pip install einops\npip install --no-index einops", {}),
        (
            "downloaded-before",
            "pip download -d wheels our-adapter\npip install --no-index -f wheels our-adapter",
            {},
        ),
        (
            "copied-before",
            "mkdir -p /tmp/w\ncp wheels/*.whl /tmp/w\npip install --no-index -f /tmp/w our-adapter",
            {WHEEL: "-"},
        ),
        ("by-path", f"pip install --no-index --no-deps {WHEEL}", {WHEEL: "-"}),
        ("switched-off", "PIP_NO_INDEX=0 pip install our-adapter", {}),
        (
            "for-another-python",
            "pip install --no-index -r more.txt",
            {"more.txt": "tomli; python_version < '3.8'\n"},
        ),
        ("tolerated", f"{FROM_WHEELS} || echo no wheels", OURS),
    )
)

HERE = 'cd "$(dirname "$0")"'
OF_VLLM = 'exec python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --host 0.0.0.0 --port 8000'
ASK = "def ask(text):\n    return text\n"
FAILS, WARNS = {"plan/no-shadowed-modules": "fail"}, {"plan/no-shadowed-modules": "warn"}
IN_PROCESS = """
    import asyncio, os
    from vllm.entrypoints.openai.api_server import run_server
    from vllm.entrypoints.openai.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser
    parser = make_arg_parser(FlexibleArgumentParser())
    args = parser.parse_args(["--model", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"])
    asyncio.run(run_server(args))
    """
BY_CHILD = """
    import os, subprocess
    subprocess.run(["vllm", "serve", os.environ["MODEL_PATH"], "--host", "0.0.0.0", "--port", "8000"], check=True)
    """
APP = """
    import os
    import uvicorn
    from fastapi import FastAPI
    from vllm import LLM
    llm = LLM(model=os.environ["MODEL_PATH"])
    app = FastAPI()
    @app.post("/v1/chat/completions")
    def chat(body: dict):
        return {}
    uvicorn.run(app, host="0.0.0.0", port=8000)
    """

_WRONG_SHADOWS: tuple[Case, ...] = tuple(
    case(f"shadow-{name}", bash(body), expected, files=files, says=says, fix=fix)
    for name, body, expected, files, says, fix in (
        ("by-a-module", f"{HERE}\n{OF_VLLM}", FAILS, {"openai.py": ASK},
         "imports openai.types, which it does not have [openai.py]", "git mv openai.py own_openai.py"),
        ("by-a-package", f"{HERE}\n{OF_VLLM}", FAILS, {"fastapi/__init__.py": "", "fastapi/routes.py": ""},
         "finds fastapi/__init__.py", "git mv fastapi own_fastapi"),
        ("of-the-standard-library", f"{HERE}\n{OF_VLLM}", FAILS, {"logging.py": "level = 1\n"}, "imports logging.config, logging.Logger", ""),
        ("beside-a-program", 'exec python3 "$(dirname "$0")/src/serve.py"', FAILS,
         {"src/serve.py": IN_PROCESS, "src/torch.py": ASK}, "the folder of the program, src,", "git mv src/torch.py src/own_torch.py"),
        ("by-variable", f'export PYTHONPATH="$(cd "$(dirname "$0")" && pwd)${{PYTHONPATH:+:$PYTHONPATH}}"\n{SERVE}', FAILS, {"numpy.py": ASK},
         "PYTHONPATH has the folder .", ""),
        ("by-variable-for-a-child", f"{HERE}\nPYTHONPATH=lib:$PYTHONPATH python3 start.py", FAILS,
         {"start.py": BY_CHILD, "lib/pydantic.py": ASK}, "PYTHONPATH has the folder lib", ""),
        ("whole-package", f"{HERE}\n{OF_VLLM}", WARNS, {"openai/__init__.py": "", "openai/types/__init__.py": ""},
         "whether it has everything", ""),
        ("that-passes-on", f"{HERE}\n{OF_VLLM}", WARNS, {"requests.py": "def get(url): pass\n"}, "whether it has everything", ""),
        ("early-module", f"{HERE}\n{OF_VLLM}", WARNS, {"types.py": ASK}, "depends on its release and on the image", ""),
        ("of-an-app-with-vllm", f"{HERE}\nexec python3 app.py", {**WARNS, "plan/served-name": "warn"},
         {"app.py": APP, "openai.py": ASK}, "depends on its release", ""),
        ("in-a-launcher", f"{HERE}\nexec torchrun --nproc_per_node 1 serve.py", FAILS, {"serve.py": IN_PROCESS, "openai.py": ASK}, "", ""),
    )
)  # fmt: skip
_RIGHT_SHADOWS: tuple[Case, ...] = tuple(
    case(f"shadow-{name}", bash(body), files=files)
    for name, body, files in (
        ("of-the-program-vllm", f"{HERE}\n{SERVE}", {"openai.py": ASK, "logging.py": ""}),
        ("of-a-child", f"{HERE}\npython3 start.py", {"start.py": BY_CHILD, "openai.py": ASK}),
        ("elsewhere", f"{HERE}\n{OF_VLLM}", {"tools/openai.py": ASK, "tools/__init__.py": ""}),
        ("without-init", f"{HERE}\n{OF_VLLM}", {"openai/notes.txt": "", "requests/sample.json": "{}"}),
        ("of-other-names", f"{HERE}\n{OF_VLLM}", {"test/__init__.py": "", "utils.py": "", "config.py": "", "os.py": "", "time.py": ""}),
        ("of-an-app-without-vllm", f"{HERE}\npython3 app.py & exec python3 -P -m {OF_VLLM.partition(' -m ')[2]}",
         {"app.py": APP.replace("from vllm import LLM", "LLM = dict").replace("8000", "9000"), "openai.py": ASK}),
        ("of-safe-python", f"{HERE}\n{OF_VLLM.replace('-m vllm', '-P -m vllm')}", {"openai.py": ASK}),
        ("of-a-safe-variable", f"{HERE}\nexport PYTHONSAFEPATH=1\n{OF_VLLM}", {"openai.py": ASK}),
        ("from-another-folder", f"cd /tmp\n{OF_VLLM}", {"openai.py": ASK}),
        ("that-is-moved-first", f"{HERE}\nmv openai.py /tmp/client.py\n{OF_VLLM}", {"openai.py": ASK}),
    )
)  # fmt: skip

XLLM = 'xllm --model "$MODEL_PATH" --model_id "$MODEL_PATH"'
_NEEDS_XLLM = {"plan/self-contained": "warn"}
_RIGHT_XLLM: tuple[Case, ...] = tuple(
    case(f"xllm-{name}", bash(body), _NEEDS_XLLM, says="xllm is started and nothing installs it")
    for name, body in (
        ("and-nothing-else", f"exec {XLLM} --port 8000"),
        ("with-the-name-of-its-instance", f"exec {XLLM} -port=8000 --host 127.0.0.1"),
        ("by-its-module", f"exec python3 -m xllm.launch_server {XLLM[5:]} --start-port 8000"),
        (
            "with-a-rank-for-each-device",
            f"for rank in 0 1; do\n  {XLLM} --port $((8000 + rank)) --nnodes=2 --node_rank=$rank &\ndone\nwait",
        ),
    )
)
_WRONG_XLLM: tuple[Case, ...] = tuple(
    case(f"xllm-{name}", bash(body), {**_NEEDS_XLLM, **expected}, files=files, says=says, fix=fix)
    for name, body, expected, files, says, fix in (
        ("at-its-own-port", f"exec {XLLM}", {"plan/port": "fail"}, {}, "xllm's own default", "--port 8000"),
        ("with-the-name-of-its-folder", 'exec xllm --model "$MODEL_PATH" --port 8000', {"plan/served-name": "fail"}, {},
         "served as 'Tiny-Chat'", 'pass --model_id "$MODEL_PATH"'),
        ("with-another-name", 'exec xllm --model "$MODEL_PATH" --model_id mine --port 8000', {"plan/served-name": "fail"}, {},
         "served as 'mine' (--model-id)", 'pass --model_id "$MODEL_PATH"'),
        ("with-other-weights", 'exec xllm --model /models/other --model_id "$MODEL_PATH" --port 8000',
         {"plan/model-path": "fail"}, {}, "/models/other", "$MODEL_PATH"),
        ("with-a-file-that-overrides-it", f"exec {XLLM} --port 8000 --config_json_file conf.json",
         {"plan/port": "warn", "plan/model-path": "warn", "plan/served-name": "warn"}, {"conf.json": "{}"}, "", ""),
    )
)  # fmt: skip

RIGHT_KINDS: tuple[Case, ...] = (
    *_RIGHT_SHADOWS,
    *_RIGHT_XLLM,
    *_RIGHT_OFFLINE,
    case(
        "asks-for-an-engine-or-installs-it",
        bash(f"command -v sglang >/dev/null || pip install sglang\n{SGLANG}"),
    ),
    case(
        "asks-for-an-engine-or-has-another",
        bash(f"if command -v lmdeploy; then {LMDEPLOY}\nelse {SERVE}\nfi"),
    ),
)
WRONG_KINDS: tuple[Case, ...] = (*_WRONG_ENGINES, *_WRONG_OFFLINE, *_WRONG_SHADOWS, *_WRONG_XLLM)
