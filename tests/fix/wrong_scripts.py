"""Submissions with defects that --fix repairs: their files before and after, as an author would have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SH, BASH = "#!/bin/sh\n", "#!/bin/bash\n"
CD = 'cd "$(dirname "$0")"\n'
SERVE = 'exec vllm serve "$MODEL_PATH"'
IN_BASH = '[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"\n'


@dataclass(frozen=True, slots=True)
class Wrong:
    """The files that change, before and after. `executable`: deploy.sh is committed with its executable bit."""

    name: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    executable: bool = field(default=True)


def _script(name: str, before: str, after: str) -> Wrong:
    return Wrong(name, {"deploy.sh": before}, {"deploy.sh": after})


def _options(name: str, before: str, after: str, shell: str = SH) -> Wrong:
    """Options of an ordinary launch, before and after."""
    return _script(
        name,
        f"{shell}{SERVE} {before} --port 8000\n",
        f"{shell}{SERVE}{after and ' '}{after} --port 8000\n",
    )


def _requirements(name: str, before: str, after: str) -> Wrong:
    right = f"{SH}{SERVE} --port 8000\n"
    return Wrong(
        name,
        {"deploy.sh": right, "requirements.txt": before},
        {"deploy.sh": right, "requirements.txt": after},
    )


OPTIONS = (
    _options("load-format-dummy", "--load-format dummy", ""),
    _options("removed-switch", "--disable-log-requests", ""),
    _options("removed-option", "--swap-space 16", ""),
    _options("removed-option-with-equals", "--swap-space=16", ""),
    _options("unknown-option", "--no-such-thing 3", ""),
    _options("misspelt", "--tensor-paralel-size 1", "--tensor-parallel-size 1"),
    _options("misspelt-with-equals", "--max-model-length=2048", "--max-model-len=2048"),
    _options("renamed", "--cuda-graph-sizes 1 2", "--cudagraph-capture-sizes 1 2"),
    _options("became-a-key", "--guided-decoding-backend xgrammar",
             """--structured-outputs-config '{"backend": "xgrammar"}'"""),
    _options("switch-with-a-value", "--enforce-eager true", "--enforce-eager"),
    _options("switch-with-equals", "--enforce-eager=true", "--enforce-eager"),
    _options("choice", "--dtype fp16", "--dtype float16"),
    _options("percentage", "--gpu-memory-utilization 90", "--gpu-memory-utilization 0.9"),
    _options("thousands", "--max-model-len 2,048", "--max-model-len 2048"),
    _options("small-batch", "--max-num-batched-tokens 64 --max-num-seqs 128",
             "--max-num-batched-tokens 128 --max-num-seqs 128"),
    _options("one-word", '"--max-model-len 2048"', "--max-model-len 2048"),
    _options("pairs", "--limit-mm-per-prompt image=4", """--limit-mm-per-prompt '{"image": 4}'"""),
    _options("more-pairs", "--limit-mm-per-prompt image=4,video=1",
             """--limit-mm-per-prompt '{"image": 4, "video": 1}'"""),
    _options("quotes-eaten", '--additional-config {"weight_nz_mode":0}',
             """--additional-config '{"weight_nz_mode":0}'"""),
    _options("quotes-eaten-with-blanks", '--compilation-config {"mode": 3, "cudagraph_mode": "NONE"}',
             """--compilation-config '{"mode": 3, "cudagraph_mode": "NONE"}'"""),
    _options("quotes-in-quotes", '--compilation-config "{"mode": 3}"', """--compilation-config '{"mode": 3}'"""),
    _options("quotes-of-python", """--compilation-config "{'mode': 3}" """.strip(),
             """--compilation-config '{"mode": 3}'"""),
    _options("superfluous-comma", """--compilation-config '{"mode": 3,}'""", """--compilation-config '{"mode": 3}'"""),
    _options("missing-brace", """--compilation-config '{"mode": 3'""", """--compilation-config '{"mode": 3}'"""),
    _options("misspelt-key", """--compilation-config '{"cudagraph_mod": "NONE"}'""",
             """--compilation-config '{"cudagraph_mode": "NONE"}'"""),
    _options("misspelt-kind-of-input", """--limit-mm-per-prompt '{"imgae": 4}'""",
             """--limit-mm-per-prompt '{"image": 4}'"""),
    _options("number-as-text", """--limit-mm-per-prompt '{"image": "4"}'""", """--limit-mm-per-prompt '{"image": 4}'"""),
    _options("expanded-braces", """--limit-mm-per-prompt {"image":4,"video":1}""",
             """--limit-mm-per-prompt '{"image":4,"video":1}'""", BASH + IN_BASH),
)  # fmt: skip
LAUNCHES = (
    _script("port", f"{SH}{SERVE} --port 8001\n", f"{SH}{SERVE} --port 8000\n"),
    _script("port-with-equals", f'{SH}{SERVE} --port="9000"\n', f'{SH}{SERVE} --port="8000"\n'),
    _script("port-in-a-default", f"{SH}{SERVE} --port ${{PORT:-9000}}\n", f"{SH}{SERVE} --port ${{PORT:-8000}}\n"),
    _script("port-in-a-variable", f'{SH}PORT=9000\n{SERVE} --port "$PORT"\n', f'{SH}PORT=8000\n{SERVE} --port "$PORT"\n'),
    _script("port-in-a-text", f'{SH}MORE="--max-model-len 2048 --port 9000"\n{SERVE} $MORE\n',
            f'{SH}MORE="--max-model-len 2048 --port 8000"\n{SERVE} $MORE\n'),
    _script("options-in-an-array", f'{BASH}{IN_BASH}MORE=(\n  --port 9000\n  --swap-space 4\n)\n{SERVE} "${{MORE[@]}}"\n',
            f'{BASH}{IN_BASH}MORE=(\n  --port 8000\n)\n{SERVE} "${{MORE[@]}}"\n'),
    _script("host", f"{SH}{SERVE} --host 127.0.0.1 --port 8000\n", f"{SH}{SERVE} --host 0.0.0.0 --port 8000\n"),
    _script("unquoted", f"{SH}exec vllm serve $MODEL_PATH --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("unquoted-holder", f"{SH}CKPT=$MODEL_PATH\nexec vllm serve $CKPT --port 8000\n",
            f'{SH}CKPT=$MODEL_PATH\nexec vllm serve "$CKPT" --port 8000\n'),
    _script("own-folder", f"{SH}exec vllm serve /data/models/mine --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("own-model", f"{SH}exec python3 -m vllm.entrypoints.openai.api_server --model Org/Name --port 8000\n",
            f'{SH}exec python3 -m vllm.entrypoints.openai.api_server --model "$MODEL_PATH" --port 8000\n'),
    _script("overwritten-path", f"{SH}MODEL_PATH=/data/mine\n{SERVE} --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("served-name", f"{SH}{SERVE} \\\n  --served-model-name a 'b c' \\\n  --port 8000\n",
            f"{SH}{SERVE} \\\n  --port 8000\n"),
    _script("served-name-last", f"{SH}{SERVE} \\\n  --port 8000 \\\n  --served-model-name x\n",
            f"{SH}{SERVE} \\\n  --port 8000\n"),
    _script("served-name-before-a-pipe", f'{SH}vllm serve "$MODEL_PATH" --port 8000 \\\n  --served-model-name x 2>&1 | tee log\n',
            f'{SH}vllm serve "$MODEL_PATH" --port 8000 2>&1 | tee log\n'),
    _script("api-key", f"{SH}{SERVE} --api-key some-words --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("api-key-in-the-environment", f"{SH}export VLLM_API_KEY=some-words\n{SERVE} --port 8000\n",
            f"{SH}{SERVE} --port 8000\n"),
    _script("gpu-devices", f"{SH}export CUDA_VISIBLE_DEVICES=0,1\n{SERVE} --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("gpu-devices-before-the-command", f'{SH}CUDA_VISIBLE_DEVICES=0 vllm serve "$MODEL_PATH" --port 8000\n',
            f'{SH}vllm serve "$MODEL_PATH" --port 8000\n'),
    _script("no-plugins", f"{SH}export VLLM_PLUGINS=\n{SERVE} --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("left-in-the-background", f'{SH}vllm serve "$MODEL_PATH" --port 8000 &\nsleep 1\n',
            f'{SH}vllm serve "$MODEL_PATH" --port 8000 &\nsleep 1\nwait\n'),
    _script("exit-behind-the-server", f'{SH}vllm serve "$MODEL_PATH" --port 8000 > log 2>&1 &\nexit 0\n',
            f'{SH}vllm serve "$MODEL_PATH" --port 8000 > log 2>&1 &\nwait\n'),
    _script("exec-in-the-background", f"{SH}{SERVE} --port 8000 &\n", f"{SH}{SERVE} --port 8000\n"),
    _script("time-limit", f'{SH}timeout -k 5 3600 vllm serve "$MODEL_PATH" --port 8000\n',
            f'{SH}vllm serve "$MODEL_PATH" --port 8000\n'),
)  # fmt: skip
TEXTS = (
    _script("space-behind-a-backslash", f"{SH}{SERVE} \\  \n  --max-model-len 2048 \\\t\n  --port 8000\n",
            f"{SH}{SERVE} \\\n  --max-model-len 2048 \\\n  --port 8000\n"),
    _script("comment-between", f"{SH}{SERVE} \\\n  # the port\n  --port 8000\n", f"{SH}# the port\n{SERVE} \\\n  --port 8000\n"),
    _script("lost-backslash", f"{SH}{SERVE} \\\n  --max-model-len 2048\n  --port 8000\n",
            f"{SH}{SERVE} \\\n  --max-model-len 2048 \\\n  --port 8000\n"),
    _script("dash", f"{SH}{SERVE} –-port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("long-dash", f"{SH}{SERVE} —port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("curly-quotes", f"{SH}exec vllm serve “$MODEL_PATH” --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("crlf", f"{SH}{SERVE} --port 8001\n".replace("\n", "\r\n"), f"{SH}{SERVE} --port 8000\n"),
    _script("byte-order-mark", f"\ufeff{SH}{SERVE} --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("mark-and-crlf", f"\ufeff{SH}{SERVE} --port 8000\n".replace("\n", "\r\n"), f"{SH}{SERVE} --port 8000\n"),
    _script("no-first-line", f"{SERVE} --port 8000\n", f"{BASH}{SERVE} --port 8000\n"),
    _script("late-first-line", f"\n{SH}{SERVE} --port 8000\n", f"{SH}{SERVE} --port 8000\n"),
    _script("bash-without-the-line", f"{BASH}set -euo pipefail\nsource ./env.sh 2>/dev/null || true\n{SERVE} --port 8000\n",
            f"{BASH}{IN_BASH}set -euo pipefail\nsource ./env.sh 2>/dev/null || true\n{SERVE} --port 8000\n"),
    _script("bash-under-sh", f'{SH}MORE=(--port 8000)\n{SERVE} "${{MORE[@]}}"\n',
            f'{BASH}{IN_BASH}MORE=(--port 8000)\n{SERVE} "${{MORE[@]}}"\n'),
    Wrong("not-executable", {"deploy.sh": f"{SH}{SERVE} --port 8000\n"}, {"deploy.sh": f"{SH}{SERVE} --port 8000\n"},
          executable=False),
    _script("all-at-once",
            f"{BASH}set -eo pipefail\nexport CUDA_VISIBLE_DEVICES=0\n"
            "vllm serve $MODEL_PATH \\\n  --host localhost \\\n  --port 8080 \\\n  --served-model-name mine \\\n"
            "  --load-format dummy \\\n  --disable-log-requests &\nsleep 2\n",
            f"{BASH}{IN_BASH}set -eo pipefail\n"
            'vllm serve "$MODEL_PATH" \\\n  --host 0.0.0.0 \\\n  --port 8000 &\nsleep 2\nwait\n'),
)  # fmt: skip
REQUIREMENTS = (
    _requirements("provided", "torch==2.1.0\ntorch-npu==2.1.0\neinops==0.8.0\nvllm\n", "einops==0.8.0\n"),
    _requirements("continued", "torch-npu==2.10.0 \\\n    --hash=sha256:" + "0" * 64 + "\neinops==0.8.0\n", "einops==0.8.0\n"),
    _requirements("in-the-image", "einops==0.8.0\ntransformers>=4.51\n", "einops==0.8.0\n"),
    _requirements("another-version", "transformers==4.37.0\neinops==0.8.0\n", "einops==0.8.0\n"),
    _requirements("cuda", "flash-attn==2.5.8\neinops==0.8.0\n", "einops==0.8.0\n"),
    _requirements("single-equals", "einops=0.8.0\n", "einops==0.8.0\n"),
    _requirements("of-conda", "einops=0.8.0=py310_0\n", "einops==0.8.0\n"),
    _requirements("pip-command", "pip install einops==0.8.0\n", "einops==0.8.0\n"),
    _requirements("standard-library", "json\neinops==0.8.0\n", "einops==0.8.0\n"),
)  # fmt: skip
INDEX = (
    Wrong(
        "index-of-its-own",
        {
            "deploy.sh": f"{SH}{CD}pip install -r requirements.txt -i https://mirror.example/simple\n{SERVE} --port 8000\n",
            "requirements.txt": "einops==0.8.0\n",
        },
        {"deploy.sh": f"{SH}{CD}pip install -r requirements.txt\n{SERVE} --port 8000\n"},
    ),
)
WRONG = (*INDEX, *OPTIONS, *LAUNCHES, *TEXTS, *REQUIREMENTS)
