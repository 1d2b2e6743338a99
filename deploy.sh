#!/bin/sh
# Serves the model at $MODEL_PATH on port 8000 with vLLM. Runs under any POSIX sh, from any folder, with no network.
#   MODEL_PATH   the folder of the weights (required)
#   ADAPTER_*    overrides of single decisions; `python3 -m adapter --print` lists them with the reason for each
#   ASCEND_ROOT  where CANN and ATB are installed (default /usr/local/Ascend)
set -eu
unset CDPATH

if [ -z "${MODEL_PATH:-}" ]; then
    echo "deploy.sh: MODEL_PATH is not set: export MODEL_PATH=/folder/of/the/weights" >&2
    exit 1
fi
if [ ! -d "$MODEL_PATH" ]; then
    echo "deploy.sh: MODEL_PATH is no folder: $MODEL_PATH" >&2
    exit 1
fi
here=$(cd -- "$(dirname -- "$0")" && pwd)
weights=$(cd -- "$MODEL_PATH" && pwd)

# CANN and ATB describe themselves in bash scripts that read unset variables and have steps that fail. A bash of
# its own sources each (adapter/sourced.py); this shell takes over what it exported.
ascend=${ASCEND_ROOT:-/usr/local/Ascend}
toolkit=$ascend/ascend-toolkit/set_env.sh
[ -r "$toolkit" ] || toolkit=$ascend/cann/set_env.sh
for script in "$toolkit" "$ascend/nnal/atb/set_env.sh"; do
    if [ -r "$script" ]; then
        eval "$(cd -- "$here" && python3 -m adapter.sourced "$script")"
    fi
done

# The plan: what these weights need on this machine, as arguments and as variables where none are set.
plan() {
    (cd -- "$here" && MODEL_PATH=$weights python3 -m adapter "$@")
}
variables=$(plan --env)
eval "$variables"
args=$(plan)
eval "set -- $args"

exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 "$@"
