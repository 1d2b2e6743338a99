"""deploy.sh repositories about another engine that is asked for, packages without an index, and shadowed modules."""

from __future__ import annotations

from tests.plan.corpus import UNKNOWN, Case, bash, case, sh

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
LMDEPLOY = 'exec lmdeploy serve api_server "$MODEL_PATH" --server-port 8000'
SGLANG = 'exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000'
NEVER = {"plan/starts-server": "fail"}
NO_PROGRAM = {**UNKNOWN, "plan/self-contained": "unsettled"}
_ASKED = "lmdeploy is unknown: the official vllm-ascend image does not have it"

_WRONG_ENGINES: tuple[Case, ...] = (
    *(
        case(f"asks-for-an-engine-{name}", shell(body), expected, says=says, fix="install it in deploy.sh")
        for name, shell, body, expected, says in (
            (
                "and-ends",
                bash,
                f'command -v lmdeploy >/dev/null || {{ echo "lmdeploy is not in this image" >&2; exit 1; }}\n{LMDEPLOY}',
                UNKNOWN,
                _ASKED,
            ),
            ("under-sh", sh, f"if ! which lmdeploy > /dev/null; then\n  exit 1\nfi\n{LMDEPLOY}", UNKNOWN, _ASKED),
            (
                "by-variable",
                bash,
                f'LM=$(command -v lmdeploy || true)\n[ -n "$LM" ] || exit 3\n{LMDEPLOY}',
                UNKNOWN,
                _ASKED,
            ),
            ("and-starts-its-module", bash, f"set -e\ncommand -v sglang\n{SGLANG}", UNKNOWN, "sglang is unknown"),
            ("without-an-error", sh, f"if command -v lmdeploy; then\n  {LMDEPLOY}\nfi", UNKNOWN, _ASKED),
            (
                "of-two",
                bash,
                f"if command -v sglang; then {SGLANG}\nelif command -v lmdeploy; then {LMDEPLOY}\nelse exit 1; fi",
                UNKNOWN,
                "lmdeploy, sglang is unknown",
            ),
            ("and-goes-on", sh, f"command -v lmdeploy || echo trying anyway\n{LMDEPLOY}", NO_PROGRAM, _ASKED),
        )
    ),
    case(
        "asks-for-an-engine-and-for-a-token",
        bash(f'command -v sglang || pip install sglang\ntest "$SEAT" = 4 || exit 1\n{SGLANG}'),
        NEVER,
    ),
    case(
        "asks-for-an-engine-and-starts-nothing", sh("command -v sglang && echo sglang is there\necho done"), NEVER
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
            ("and-goes-on", "pip install --no-index --target lib -f wheels our-adapter", {"plan/starts-server": "warn"}, {},
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
        ("and-goes-on", f"{FROM_WHEELS} || echo no wheels", OURS),
    )
)

RIGHT_KINDS: tuple[Case, ...] = (
    *_RIGHT_OFFLINE,
    case(
        "asks-for-an-engine-or-installs-it", bash(f"command -v sglang >/dev/null || pip install sglang\n{SGLANG}")
    ),
    case(
        "asks-for-an-engine-or-has-another",
        bash(f"if command -v lmdeploy; then {LMDEPLOY}\nelse {SERVE}\nfi"),
    ),
)
WRONG_KINDS: tuple[Case, ...] = (*_WRONG_ENGINES, *_WRONG_OFFLINE)
