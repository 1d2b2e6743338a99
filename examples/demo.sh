#!/bin/sh
# The main job from end to end: scaffold an adapter, launch it on weights that are made here, verify it.
#   sh examples/demo.sh vllm         the real vLLM, CPU build (minutes the first time)
#   sh examples/demo.sh simulated    a simulated endpoint, plainly labelled as such (seconds, no torch)
set -eu
cd "$(dirname "$0")/.."
engine=${1:-vllm}
python=${PYTHON:-python3}
kit=$PWD/.venv/bin/npu-adapter
demo=$PWD/.demo

case $engine in
vllm)
    "$python" examples/cpu_engine/make_environment.py .venv-vllm
    weights=$(.venv-vllm/bin/python examples/tiny_lm/make_weights.py --cache .cache/weights)
    engine_bin=$PWD/.venv-vllm/bin
    ;;
simulated)
    weights=$PWD/examples/simulated_engine/weights
    engine_bin=$PWD/examples/simulated_engine/bin
    ;;
*)
    echo "demo: ENGINE is vllm or simulated, not '$engine'" >&2
    exit 2
    ;;
esac

rm -rf "$demo"
"$kit" new "$demo/my-adapter" --defaults
status=0
PATH="$engine_bin:$PATH" "$kit" verify "$demo/my-adapter" --weights "$weights" --out "$demo/report" \
    --env VLLM_CPU_KVCACHE_SPACE=1 --env HF_HUB_OFFLINE=1 --env VLLM_NO_USAGE_STATS=1 || status=$?
echo "The report is in $demo/report, the adapter in $demo/my-adapter."
exit "$status"
