#!/bin/sh
# The main job from end to end: scaffold an adapter, launch it on small weights, verify it.
#   sh examples/demo.sh vllm         the real vLLM, CPU build (minutes the first time)
#   sh examples/demo.sh simulated    a simulated endpoint, plainly labelled as such (seconds, no torch)
set -eu
cd "$(dirname "$0")/.."
engine=${1:-vllm}
python=${PYTHON:-python3}
make=${MAKE:-make}
kit=$PWD/.venv/bin/npu-adapter
demo=$PWD/.demo

# Nothing is installed before all this is right.
case $engine in
vllm | simulated) ;;
*)
    echo "demo: ENGINE is vllm or simulated, not '$engine'" >&2
    exit 2
    ;;
esac
"$python" scripts/make_development_environment.py --check || exit 2
if [ "$engine" = vllm ]; then
    "$python" examples/cpu_engine/make_environment.py --check || exit 2
fi

case $engine in
vllm)
    echo "demo: an adapter on the real vLLM; 8 minutes and 3.6 GB the first time, 1 minute later"
    # Side by side: one waits for the network while the other unpacks.
    "$make" --no-print-directory .venv/ready &
    kit_made=$!
    trap 'kill "$kit_made" 2>/dev/null || true' EXIT
    "$python" examples/cpu_engine/make_environment.py .venv-vllm
    weights=$(.venv-vllm/bin/python examples/tiny_lm/make_weights.py --cache .cache/weights)
    wait "$kit_made"
    trap - EXIT
    engine_bin=$PWD/.venv-vllm/bin
    ;;
simulated)
    echo "demo: an adapter against a simulated endpoint; 2 minutes and 1.1 GB the first time, 10 seconds later"
    "$make" --no-print-directory .venv/ready
    weights=$PWD/examples/simulated_engine/weights
    engine_bin=$PWD/examples/simulated_engine/bin
    ;;
esac

rm -rf "$demo"
"$kit" new "$demo/my-adapter" --defaults --weights "$weights" >/dev/null
echo "demo: made .demo/my-adapter (npu-adapter new); verifies it (npu-adapter verify)"
status=0
PATH="$engine_bin:$PATH" "$kit" verify "$demo/my-adapter" --weights "$weights" --out "$demo/report" \
    --env VLLM_CPU_KVCACHE_SPACE=1 --env HF_HUB_OFFLINE=1 --env VLLM_NO_USAGE_STATS=1 || status=$?
echo "The report is in $demo/report, the adapter in $demo/my-adapter."
echo "For the kit's command in this terminal: . .venv/bin/activate"
exit "$status"
