"""deploy.sh repositories that set variables which a server on Ascend may not come up with, or may."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SERVE = '\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
WARNED, FAILED = {"plan/self-contained": "warn"}, {"plan/self-contained": "fail"}

WRONG_VARIABLES: tuple[Case, ...] = (
    case("plugins-without-ascend", sh(f"export VLLM_PLUGINS=sampling{SERVE}"), WARNED, says="VLLM_PLUGINS=sampling", fix="in deploy.sh:2 remove the line `export VLLM_PLUGINS=sampling`"),
    case("plugins-empty", sh(f"export VLLM_PLUGINS={SERVE}"), FAILED, says="deploy.sh:2"),
    case("plugins-with-a-space", sh(f"export VLLM_PLUGINS='sampling, ascend'{SERVE}"), WARNED),
    case("devices-of-a-gpu", sh(f"export CUDA_VISIBLE_DEVICES=0,1{SERVE}"), WARNED, says="deploy.sh:2", fix="in deploy.sh:2 remove the line"),
    case("libraries-replaced", sh(f"export LD_LIBRARY_PATH=/opt/mine/lib{SERVE}"), WARNED, says="deploy.sh:2", fix="${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"),
    case("modules-replaced-behind-cann", bash(f"""
        source /usr/local/Ascend/ascend-toolkit/set_env.sh
        HERE=$(cd "$(dirname "$0")" && pwd)
        export PYTHONPATH="$HERE/adapter"{SERVE}
        """), WARNED, says="replaces what PYTHONPATH was"),
    case("variable-of-no-release", sh(f"export VLLM_ASCEND_ENABLE_NS=1{SERVE}"), WARNED, says="did you mean VLLM_ASCEND_ENABLE_NZ or", fix="remove it"),
    case("variable-of-an-older-release", sh(f"export VLLM_ASCEND_ENABLE_TOPK_TOPP_OPTIMIZATION=1{SERVE}"), WARNED,
         says="deploy.sh:2"),
    case("variable-not-exported", sh(f"HCCL_BUFFSIZE=1024{SERVE}"), {"plan/engine-variables": "warn"}, says="HCCL_BUFFSIZE is assigned in deploy.sh:2 and not exported",
         fix="in deploy.sh:2 replace `HCCL_BUFFSIZE=1024` by `export HCCL_BUFFSIZE=1024`"),
    case("variable-with-a-default-not-exported", sh(f"VLLM_LOGGING_LEVEL=${{VLLM_LOGGING_LEVEL:-DEBUG}}{SERVE}"), {"plan/engine-variables": "warn"},
         fix="by `export VLLM_LOGGING_LEVEL=${VLLM_LOGGING_LEVEL:-DEBUG}`"),
    case("devices-printed-and-not-exported", bash(f'ASCEND_RT_VISIBLE_DEVICES=2 HCCL_IF_IP=\necho "on $ASCEND_RT_VISIBLE_DEVICES"{SERVE}'),
         {"plan/engine-variables": "warn"}, says="ASCEND_RT_VISIBLE_DEVICES is assigned in deploy.sh:2"),
    case("media-in-no-folder", sh(f"{SERVE.strip()} --allowed-local-media-path /data/media"), {"plan/no-missing-files": "warn", **WARNED},
         says="HTTP 400", fix="leave --allowed-local-media-path out"),
    case("media-by-underscores", sh(f"{SERVE.strip()} --allowed_local_media_path=/data/media"), {"plan/no-missing-files": "warn", **WARNED},
         says="HTTP 400"),
    case("version-of-another-vllm", sh(f"export VLLM_VERSION=0.9.0{SERVE}"), WARNED, says="VLLM_VERSION=0.9.0", fix="in deploy.sh:2 remove the line"),
    case("modules-replaced-for-it", sh(f"PYTHONPATH=adapter:. {SERVE.lstrip().removeprefix('exec ')}"), WARNED),
)  # fmt: skip
RIGHT_VARIABLES: tuple[Case, ...] = (
    case("exported-later", sh(f"HCCL_BUFFSIZE=1024\nexport HCCL_BUFFSIZE{SERVE}")),
    case("exported-by-an-option", sh(f"set -a\nHCCL_BUFFSIZE=1024\nset +a{SERVE}")),
    case("of-the-script-itself", sh(f"VLLM_PORT=8000{SERVE.replace('8000', '$VLLM_PORT')}")),
    case("devices-of-both", sh(f"export CUDA_VISIBLE_DEVICES=0 ASCEND_RT_VISIBLE_DEVICES=0{SERVE}")),
    case("plugins-with-ascend", sh(f"export VLLM_PLUGINS=ascend,sampling{SERVE}")),
    case("set-by-the-image", bash(f"""
        set -eu
        export LD_LIBRARY_PATH=/opt/mine/lib:$LD_LIBRARY_PATH PYTHONPATH=$PWD:$PYTHONPATH
        [ -n "$ASCEND_HOME_PATH" ] && [ -d "$ATB_HOME_PATH" ]{SERVE}
        """)),
    *(
        case(f"place-of-the-image-{name}", bash(f"set -eu\n{line}{SERVE}"))
        for name, line in (
            ("older-script", '[ -z "$ASCEND_HOME_PATH" ] || source "$ASCEND_HOME_PATH/bin/setenv.bash"'),
            ("version", 'cat "$ASCEND_TOOLKIT_HOME/version.cfg"'),
            ("operators", 'test -d "$ASCEND_OPP_PATH"'),
            ("all", 'for place in ${LD_LIBRARY_PATH//:/ } ${PYTHONPATH//:/ } "$TOOLCHAIN_HOME" "$ATB_HOME_PATH"; do cd "$place"; cd "$OLDPWD"; done'),
        )
    ),
    case("version-of-its-vllm", sh(f"export VLLM_VERSION=0.23.0{SERVE}")),
    case("variable-of-the-release", sh(f"export VLLM_ASCEND_ENABLE_NZ=0{SERVE}")),
    case("extended", bash(f"""
        export LD_LIBRARY_PATH=/opt/mine/lib:${{LD_LIBRARY_PATH:-}}
        export PYTHONPATH="$PWD${{PYTHONPATH:+:$PYTHONPATH}}"{SERVE}
        """)),
    case("extended-by-a-copy", sh(f"before=$PYTHONPATH\nexport PYTHONPATH=$PWD:$before{SERVE}")),
    case("replaced-before-cann", bash(f"export LD_LIBRARY_PATH=/opt/mine/lib\n. /usr/local/Ascend/ascend-toolkit/set_env.sh{SERVE}")),
    case("replaced-by-canns", sh(f"export LD_LIBRARY_PATH=/usr/local/Ascend/driver/lib64{SERVE}")),
    case("replaced-where-it-was-empty", bash(f"""
        if [ -n "${{PYTHONPATH:-}}" ]; then
            export PYTHONPATH="$PWD:$PYTHONPATH"
        else
            export PYTHONPATH="$PWD"
        fi{SERVE}
        """)),
    case("extended-in-a-loop", sh(f'for d in a b; do P="$d:${{P:-$PYTHONPATH}}"; done; export PYTHONPATH="$P"{SERVE}')),
    case("replaced-before-a-file", sh(f"export PYTHONPATH=$PWD\n. ./env.sh{SERVE}"),
         files={"env.sh": 'export PYTHONPATH="/usr/lib/x:$PYTHONPATH"\n'}),
    case("replaced-for-a-step", sh(f"PYTHONPATH=. python3 -c 'print(1)'{SERVE}")),
)  # fmt: skip
