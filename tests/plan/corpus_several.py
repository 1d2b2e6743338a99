"""deploy.sh repositories that start several servers: whether there is memory for all of them."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case

CROWDED = {"plan/device-memory": "fail"}
SERVE = 'vllm serve "$MODEL_PATH" --port 8000'
SECOND = 'vllm serve "$MODEL_PATH" --port 8001'


def both(name: str, first: str = "", second: str = "", third: str = "", expected: dict[str, str] | None = None,
         says: str = "") -> Case:  # fmt: skip
    deploy = bash(
        f'{first} {SECOND} {second} &\nvllm serve "$MODEL_PATH" --port 8000 {third} &\nwait'
    )
    return case(f"several-{name}", deploy, expected, says=says)


HALF = "--gpu-memory-utilization 0.5"
RIGHT_SEVERAL: tuple[Case, ...] = (
    both("halves", second=HALF, third="--gpu-memory-utilization=0.5"),
    both("other-devices", first="ASCEND_RT_VISIBLE_DEVICES=4,5,6,7", second="-tp 4", third="-tp 4"),
    both("sleeps", second="--enable-sleep-mode"),
    both("fixed-cache", second="--kv-cache-memory-bytes 1000000"),
    both("devices-of-the-machine", first="D=$(npu-smi info -l | grep -c 'NPU ID')\nexport ASCEND_RT_VISIBLE_DEVICES=$((D - 1))\n"),
    both("unknown-share", second='--gpu-memory-utilization "$UTIL"'),
    case("several-one-after-the-other", bash(f'{SECOND} &\nP=$!\nsleep 9\nkill $P\nwait $P\nexec vllm serve "$MODEL_PATH"')),
    both("ranks-by-variables", first="export VLLM_DP_SIZE=2 VLLM_DP_RANK=0\n"),
    case("several-ranks", bash("""
        for rank in 0 1; do
            vllm serve "$MODEL_PATH" --data-parallel-size 2 --data-parallel-rank $rank --port $((8000 + rank)) &
        done
        wait
        """)),
)  # fmt: skip

WRONG_SEVERAL: tuple[Case, ...] = (
    both("default", expected=CROWDED, says="2 servers on device 0 request 1.8 of its memory"),
    both("named-and-default", second=HALF, third="--tensor-parallel-size 1", expected=CROWDED, says="1.4"),
    both("same-list", first="export ASCEND_RT_VISIBLE_DEVICES=2,3\n", second="-tp 2", third="-tp 2", expected=CROWDED,
         says="on device 2"),
    both("overlap", first="ASCEND_RT_VISIBLE_DEVICES=1", third="-tp 2", expected=CROWDED, says="on device 1"),
    both("devices-not-exported", first="ASCEND_RT_VISIBLE_DEVICES=0,1\n", second="-tp 2",
         third="-tp 2", expected=CROWDED, says="assigned in deploy.sh:2 and not exported"),
    case("several-on-one-port", bash(f"{SERVE} {HALF} &\n{SERVE} {HALF} &\nwait"), {"plan/one-port-each": "warn"},
         says="vllm serve", fix="start one of them"),
    case("several-embedding", bash(f'{SECOND} --task embed &\nexec vllm serve "$MODEL_PATH" --config c.yaml'), CROWDED,
         files={"c.yaml": "gpu-memory-utilization: 0.85\n"}, says="1.75"),
)  # fmt: skip

BY_PROCESSOR = {"plan/self-contained": "warn"}
RIGHT_PROCESSOR: tuple[Case, ...] = (
    case("processor-printed", bash(f'echo "[deploy] machine: $(uname -m)"\n{SERVE}')),
    case("processor-in-words", bash(f'echo "test on a machine: $(uname -m)" if asked\n{SERVE}')),
    case("processor-in-a-path", bash(f'export X="/usr/lib/$(uname -m)-linux-gnu"\n{SERVE}')),
)
WRONG_PROCESSOR: tuple[Case, ...] = tuple(
    case(
        f"processor-{name}", bash(f"{line}\n{SERVE}"), BY_PROCESSOR, says="depends on the processor"
    )
    for name, line in {
        "tested": 'A=$(uname -m); [ "$A" = x ] && exit 1',
        "compared": "[[ $(uname -m) == x ]] && exit 1",
        "cases": 'case "$(uname -m)" in x) exit 1 ;; esac',
        "nested": 'if true; then if test "$(arch)" = x; then exit 1; fi; fi',
    }.items()
)
