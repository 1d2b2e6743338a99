"""deploy.sh repositories that end without a server and hardly say why."""

from __future__ import annotations

from tests.plan.corpus import UNKNOWN, Case, bash, case, sh

NEVER = {"plan/starts-server": "fail"}
NEEDS = {"plan/starts-server": "fail", "plan/self-contained": "fail"}
SERVE = '\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
TOKEN = "[ -f /srv/models/.token ] || exit 3"
OPEN = "the devices of the service are unknown"

NOT_BLAMED: tuple[Case, ...] = tuple(
    case(f"silent-beside-{name}", sh(f"{before}\n{TOKEN}{SERVE}"), NEVER, says="status 3 without output, after: [ -f /srv/models/.token ]")
    for name, before in (
        ("a-default", "ascend=${ASCEND_ROOT:-/usr/local/lib}"),
        ("a-number", "TP=${TP:-1}"),
        ("another", "MODEL=${MODEL:-$MODEL_PATH}"),
        ("nothing", 'export HF_TOKEN="${HF_TOKEN:-}"'),
        ("a-set-default", ': "${TP:=1}" "${PP=1}"'),
        ("a-variable", 'A="${EXTRA}"'),
        ("a-file-that-is-read", 'while read -r line; do : "$line"; done < deploy.sh'),
        ("a-pipe-that-is-read", 'ls | while read -r line; do : "$line"; done'),
        ("an-argument", 'ARG=$1\n: "$ARG"'),
        ("npu-smi", "N=$(npu-smi info -l | grep -c 'NPU ID')\n: \"$N\""),
        ("npu-smi-alone", "npu-smi info > npus.txt"),
        ("device-files", 'N=$(ls /dev/davinci[0-9]* | wc -l)\n: "$N"'),
    )
)  # fmt: skip

BLAMED: tuple[Case, ...] = (
    case("silent-behind-npu-smi", sh(f"set -e\nnpu-smi info > npus.txt\ngrep -q none npus.list{SERVE}"), NEVER,
         files={"npus.list": "0\n"}, says="after: grep -q none npus.list"),
    case("silent-where", sh(f"TP=1\n{TOKEN}{SERVE}"), NEVER, says="deploy.sh:3"),
    case("silent-where-others-look-alike", bash(f"[ -f /srv/models/.token ] && echo token\ncheck() {{\n  [ -f $1 ] || exit 3\n}}\n"
         f"check /srv/models/.token{SERVE}"), NEVER, says="after: [ -f /srv/models/.token ] [deploy.sh:4]"),
    case("silent-where-under-sh", sh(f"[ -f /srv/models/.token ] && echo token\n{TOKEN}{SERVE}"), NEVER, says="deploy.sh:3"),
    case("silent-with-a-trace-of-its-own", bash(f"echo '+deploy.sh:1: exec vllm serve' >&251\nexit 3{SERVE}"), NEVER,
         says="after: exec vllm serve [deploy.sh:1]"),
    case("usage-of-a-disk", bash("FREE=$(df -k . | awk 'NR == 2 {print $4}')\n[ \"$FREE\" -gt 999999999999 ] || {\n"
         f"  echo 'disk usage is too high' >&2\n  exit 1\n}}{SERVE}"), NEVER, says="deploy.sh:3"),
    case("silent-how-sh", sh(f"false || exit 4{SERVE}"), NEVER, fix="(MODEL_PATH=DIR sh -x deploy.sh shows them)"),
    case("silent-how-bash", bash(f"false || exit 4{SERVE}"), NEVER, fix="(MODEL_PATH=DIR bash -x deploy.sh shows them)"),
    case("silent-substitution", bash(f'set -e\nTP=1\nQUANT=$(grep -o no-such-key "$MODEL_PATH/config.json"){SERVE}'),
         NEVER, says="after: QUANT= [deploy.sh:4]"),
    case("silent-argument", sh(f"[ $# -ge 1 ] || exit 2{SERVE}"), NEEDS, says="seems to need arguments"),
    case("silent-argument-named", sh(f'SIZE=$1\nTP=1\n[ -n "$SIZE" ] || exit 2{SERVE}'), NEEDS, says="arguments"),
    case("silent-answer", sh(f'read -r answer\n[ "$answer" = yes ] || exit 2{SERVE}'), NEEDS, says="input from a terminal"),
    case("silent-variable", sh(f'[ -z "$DATA_DIR" ] && exit 1{SERVE}'), NEEDS, says="DATA_DIR"),
    case("silent-variable-if", sh(f'if [ -z "${{DATA_DIR}}" ]; then\n    exit 1\nfi{SERVE}'), NEEDS, says="deploy.sh:2"),
)  # fmt: skip

OF_THE_MACHINE: tuple[Case, ...] = tuple(
    case(f"npus-by-{name}", sh(f"{before}{SERVE}"), UNKNOWN, says=OPEN)
    for name, before in (
        ("npu-smi", 'N=$(npu-smi info -l | grep -c "NPU ID")\n[ "$N" -ge 2 ] || exit 1'),
        ("npu-smi-in-the-test", '[ "$(npu-smi info -l | grep -c "NPU ID")" -ge 2 ] || exit 1'),
        ("files", 'N=$(ls /dev/davinci[0-9]* | wc -l)\n[ "$N" -ge 2 ] || exit 1'),
        ("files-in-the-test", 'if [ "$(ls /dev/davinci[0-9]* | wc -l)" -lt 2 ]; then\n    exit 1\nfi'),
        ("files-and-words", 'N=$(ls /dev/davinci[0-9]* | wc -l)\n[ "$N" -ge 2 ] || { echo "needs 2 NPUs, found $N" >&2; exit 1; }'),
        ("files-one-by-one", 'n=0\nfor d in /dev/davinci[0-9]*; do\n    n=$((n + 1))\ndone\n[ "$n" -ge 2 ] || exit 1'),
        ("words-on", "A=$(ls /dev/davinci[0-9]*)\nset -- $A\n[ $# -ge 2 ] || exit 1"),
        ("function", 'count() {\n    ls /dev/davinci[0-9]* | wc -l\n}\nN=$(count)\n[ "$N" -ge 2 ] || exit 1'),
        ("one-file", "test -e /dev/davinci1 || exit 1"),
        ("helper", "python3 -c 'import os, sys; sys.exit(os.system(\"npu-smi info | grep -q 910C\") != 0)' || exit 1"),
        ("status", "npu-smi info | grep -q 910C || exit 1"),
    )
)  # fmt: skip

CUDA: tuple[Case, ...] = (
    *(
        case(
            f"cuda-{name}",
            sh(f'python3 -c "import {name}" || exit 1{SERVE}'),
            NEEDS,
            says=name,
            fix="made for CUDA",
        )
        for name in ("flash_attn", "xformers", "apex")
    ),
    case(
        "cuda-guarded",
        sh(f"python3 look.py || exit 1{SERVE}"),
        files={
            "look.py": "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None\n"
        },
    ),
)
LOOK = {"look.py": "import mindspore\nmindspore.set_context(device_target='Ascend')\n"}
NOT_IN_THE_IMAGE: tuple[Case, ...] = (
    case("not-in-the-image", sh(f"set -e\npython3 look.py{SERVE}"), NEEDS, files=LOOK, says="mindspore",
         fix="name its package in requirements.txt"),
    case("required-by-another-list", sh(f"set -e\npython3 look.py{SERVE}"),
         files={**LOOK, "requirements.txt": "-r more/all.txt\n", "more/all.txt": "numpy\nMindSpore==2.7\n"}),
    case("required", sh(f"set -e\npython3 look.py{SERVE}"), files={**LOOK, "requirements.txt": "numpy\nMindSpore==2.7\n"}),
    *(
        case(f"installed-{name}", sh(f"set -e\n{how}\npython3 look.py{SERVE}"),
             files={**LOOK, "wheels/mindspore-2.7-cp311-none-any.whl": "", "npu.txt": "mindspore[all]>=2\n"})
        for name, how in (
            ("by-name", "pip install 'mindspore>=2.7'"),
            ("by-module", "python3 -m pip install --no-deps mindspore==2.7"),
            ("from-a-wheel", "pip install ./wheels/mindspore-2.7-cp311-none-any.whl"),
            ("from-a-list", "cd wheels\npip3 install -r ../npu.txt\ncd .."),
            ("by-uv", "pip install uv\nuv pip install --system mindspore"),
        )
    ),
    *(
        case(f"value-of-an-option-{name}", sh(f"set -e\npip install {words} einops\npython3 -c 'import {name}'{SERVE}"), NEEDS,
             says=name, files={"reqs/base.txt": "einops\n", "constraints.txt": "einops<1\n"})
        for name, words in (
            ("simple", "-i https://example.org/simple"), ("base", "-r reqs/base.txt"), ("constraints", "-c constraints.txt"),
        )
    ),
    case("option-in-requirements", sh(f"set -e\npython3 -c 'import simple'{SERVE}"), NEEDS, says="simple",
         files={"requirements.txt": "--index-url=https://example.org/simple\neinops\n"}),
    case("required-from-another-folder", sh(f"set -e\ncd src\npython3 ../look.py\ncd ..{SERVE}"),
         files={**LOOK, "src/a.txt": "", "requirements.txt": "mindspore\n"}),
    case("installed-editable", sh(f"set -e\npip install -e tools\npython3 -m mytools.look{SERVE}"),
         files={"tools/pyproject.toml": "", "tools/src/mytools/__init__.py": "", "tools/src/mytools/look.py": "import six, urllib3\n"}),
    *(
        case(f"installed-by-{name}", sh(f"set -e\n{how}\npython3 -c 'import mytools'{SERVE}"),
             files={"tools/setup.py": "", "tools/mytools.py": ""})
        for name, how in (("folder", "pip install ./tools"), ("here", "cd tools\npip install -e .[all]\ncd .."))
    ),
    case("required-by-another-name", sh(f"set -e\npython3 -c 'import jwt, git, magic, Levenshtein, ruamel.yaml, antlr4, serial'{SERVE}"),
         files={"requirements.txt": "PyJWT>=2\nGitPython\npython-magic\npython-Levenshtein\nruamel.yaml\nantlr4-python3-runtime\npyserial\n"}),
    *(
        case(f"installed-program-by-{name}", sh(f"set -e\npip install --no-deps {place}\nexec my-serve --port 8000"), files={
            f"{folder}/{project}": text,
            f"{folder}/src/my_serve/__init__.py": "",
            f"{folder}/src/my_serve/cli.py": """
            import os, sys
            class Cli:
                @staticmethod
                def main():
                    os.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], *sys.argv[1:]])
            """,
        })
        for name, place, folder, project, text in (
            ("pyproject", "-e .", ".", "pyproject.toml", '[project]\nname = "x"\n\n[project.scripts]\nmy-serve = "my_serve.cli:Cli.main"\n\n[tool.x]\n'),
            ("setup", "'./tools[all]'", "tools", "setup.py",
             "from setuptools import setup\nsetup(entry_points={'console_scripts': ['my-serve=my_serve.cli:Cli.main']})\n"),
            ("cfg", "./tools", "tools", "setup.cfg", "[options.entry_points]\nconsole_scripts =\n    my-serve = my_serve.cli:Cli.main\n"),
        )
    ),
    case("installed-program-elsewhere", sh("set -e\npip install ./tools\nexec my-serve"), NEEDS, says="my-serve",
         files={"tools/pyproject.toml": "[project.scripts]\nother = 'a:b'\n"}),
    case("installed-cuda", sh(f"set -e\npip install flash-attn\npython3 -c 'import flash_attn'{SERVE}"), NEEDS, fix="made for CUDA"),
    case("module-of-a-library", sh(f"set -e\npython3 -m torch.utils.collect_env{SERVE}")),
    case("module-of-vllm", sh(f"set -e\npython3 -m vllm.collect_env\npython3 -m vllm.benchmarks.latency --help{SERVE}")),
    case("server-by-runpy", sh("""
        exec python3 -c '
        import os, runpy, sys
        sys.argv = ["server", "--model", os.environ["MODEL_PATH"], "--port", "8000"]
        runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
        '
        """.replace("\n        ", "\n"))),
    case("installed-editable-wrong", sh(f"set -e\npip install -e tools\npython3 -m mytools.look{SERVE}"), NEEDS,
         files={"tools/pyproject.toml": "", "tools/src/mytools/__init__.py": "", "tools/src/mytools/look.py": "import apex\n"}),
)  # fmt: skip
SITE: tuple[Case, ...] = (
    case("python-exit", sh(f"set -e\npython3 -c 'exit(0)'\npython3 -c 'quit()'{SERVE}")),
    case(
        "python-exit-status", sh(f"python3 -c 'exit(7)' || exit $?{SERVE}"), NEVER, says="status 7"
    ),
)
SAID: tuple[Case, ...] = (
    case("unset-model", sh('set -u\nvllm serve "$MODEL_DIR" --port 8000'), NEEDS, fix="${MODEL_DIR:-$MODEL_PATH}"),
    case("unset-model-below", sh('set -u\nvllm serve \\\n  "${WEIGHTS}"'), NEEDS, fix="${WEIGHTS:-$MODEL_PATH}"),
    case("unset-model-option", bash("set -u\npython3 -m vllm.entrypoints.openai.api_server --model=$M1_DIR"), NEEDS,
         fix="${M1_DIR:-$MODEL_PATH}"),
    case("unset-other", sh('set -u\nvllm serve "$MODEL_PATH" --port "$PORT"'), NEEDS, fix="${PORT:-8000}"),
    case("folder-of-nowhere", sh(f"set -e\ncd /tmp/state{SERVE}"), NEEDS, says="which is not there at the service"),
    case("missing-told-once", sh(f"set -e\ncd /tmp/state{SERVE}"), NEEDS,
         says="it ended with status 2: it needs"),
    case("name-and-value", sh('vllm serve "$MODEL_PATH" --served-model-name chat'), {"plan/served-name": "fail"},
         fix="remove `--served-model-name chat`"),
)  # fmt: skip

UNNOTICED: tuple[Case, ...] = (
    case("changes-weights", sh(f'sed -i s/a/b/ "$MODEL_PATH/config.json"{SERVE}'), {"plan/model-path": "warn"},
         says="the script went on", fix="upload the changed file"),
    case("restarts", sh('while true; do\n  vllm serve "$MODEL_PATH" --port 8000\n  sleep 5\ndone'),
         {"plan/foreground": "warn"}, says="starts it again", fix="without the loop"),
    case("waits-in-a-loop", sh('vllm serve "$MODEL_PATH" --port 8000 &\nwhile kill -0 $!; do sleep 120; done')),
    case("old-python", sh('exec python3.8 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --port 8000'),
         {"plan/no-missing-programs": "fail", "plan/self-contained": "fail"}, says="python3.8", fix="write python3"),
    case("pins-in-the-script", sh(f"pip install transformers==4.51.0{SERVE}"),
         {"plan/keeps-packages": "warn", "plan/self-contained": "warn"}, says="transformers==4.51.0"),
    case("upgrades-transformers", bash('pip install -qU transformers\nexec vllm serve "$MODEL_PATH" --port 8000'),
         {"plan/keeps-packages": "warn", "plan/self-contained": "warn"}, says="-U installs the newest"),
    case("index-of-its-own", sh(f"pip install -i https://pypi.example/simple einops==0.8.0{SERVE}"),
         {"plan/no-downloads": "warn", "plan/self-contained": "warn"}, says="may not be reachable"),
)  # fmt: skip
"""What passed in silence once, and what is like it and right."""

SILENT: tuple[Case, ...] = (
    *UNNOTICED,
    *NOT_BLAMED,
    *BLAMED,
    *OF_THE_MACHINE,
    *CUDA,
    *NOT_IN_THE_IMAGE,
    *SITE,
    *SAID,
)
