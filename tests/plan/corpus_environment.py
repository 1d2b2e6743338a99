"""deploy.sh repositories with variables of vLLM, HCCL, gloo and torch, as public recipes set them."""

from __future__ import annotations

from tests.plan.corpus import Case, bash, case, sh

SERVE = '\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
READ, PLACED = "plan/engine-variables", "plan/network-interfaces"
FOUR = f"{SERVE} --tensor-parallel-size 4"


def _setting(assignments: str, after: str = SERVE) -> str:
    return sh(f"export {assignments}{after}")


WRONG_ENVIRONMENT: tuple[Case, ...] = (
    case("allocator-with-two-minds", _setting("PYTORCH_NPU_ALLOC_CONF=expandable_segments:True,max_split_size_mb:256"),
         {"plan/ascend-environment": "warn", "plan/self-contained": "warn"}, says="torch_npu refuses them together",
         fix="write export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True"),
    case("keep-alive-with-a-unit", _setting("VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5s"), {READ: "fail"},
         says="VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5s", fix="write VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5"),
    case("switch-in-words", _setting("VLLM_DISABLE_LOG_LOGO=true"), {READ: "fail"},
         fix="write VLLM_DISABLE_LOG_LOGO=1"),
    case("verbose-in-words", _setting("VERBOSE=false"), {READ: "fail"},
         says="deploy.sh:2", fix="write VERBOSE=0"),
    case("start-method-of-python", _setting("VLLM_WORKER_MULTIPROC_METHOD=forkserver"), {READ: "fail"},
         says="=forkserver", fix="remove VLLM_WORKER_MULTIPROC_METHOD"),
    case("start-method-in-capitals", _setting("VLLM_WORKER_MULTIPROC_METHOD=SPAWN"), {READ: "fail"},
         fix="write VLLM_WORKER_MULTIPROC_METHOD=spawn"),
    case("timeout-empty", _setting("VLLM_ENGINE_READY_TIMEOUT_S="), {READ: "fail"},
         fix="remove VLLM_ENGINE_READY_TIMEOUT_S"),
    case("timeout-in-minutes", _setting("VLLM_ENGINE_READY_TIMEOUT_S=10m"), {READ: "fail"},
         fix="remove VLLM_ENGINE_READY_TIMEOUT_S"),
    case("timeout-with-a-fraction", _setting("VLLM_IMAGE_FETCH_TIMEOUT=2.5"), {READ: "fail"},
         fix="write VLLM_IMAGE_FETCH_TIMEOUT=2"),
    case("level-of-no-logger", _setting("VLLM_LOGGING_LEVEL=WARNINGS"), {READ: "fail"},
         fix="write VLLM_LOGGING_LEVEL=WARNING"),
    case("json-with-single-quotes", _setting('VLLM_FLASHINFER_ALLREDUCE_FUSION_THRESHOLDS_MB="{\'2\': 1}"'),
         {READ: "warn"}, says="VLLM_FLASHINFER_ALLREDUCE_FUSION_THRESHOLDS_MB"),
    case("switch-of-vllm-ascend-in-words", _setting("VLLM_ASCEND_ENABLE_FLASHCOMM1=on"), {READ: "warn"},
         fix="write VLLM_ASCEND_ENABLE_FLASHCOMM1=1"),
    case("variable-misspelt", _setting("VLLM_WORKER_MULTIPROCESSING_METHOD=spawn"), {READ: "warn"},
         says="did you mean VLLM_WORKER_MULTIPROC_METHOD?"),
    case("variable-refused-by-an-option", _setting("VLLM_USE_V1=1", f"{SERVE} --fail-on-environ-validation"),
         {READ: "fail"}, says="vLLM 0.11.0 did"),
    case("value-that-other-releases-ignore", _setting("VLLM_USE_FBGEMM=yes"), {READ: "warn"},
         says="does not, and which release", fix="write VLLM_USE_FBGEMM=1"),
    case("interface-of-a-recipe", _setting("GLOO_SOCKET_IFNAME=enp23s0f3"), {PLACED: "fail"},
         says="Unable to find address for", fix="write export GLOO_SOCKET_IFNAME=lo"),
    case("interfaces-by-a-variable", bash(f"""
        nic_name="enp189s0f0"
        local_ip="192.0.2.11"
        export HCCL_IF_IP=$local_ip GLOO_SOCKET_IFNAME=$nic_name TP_SOCKET_IFNAME=$nic_name
        export HCCL_SOCKET_IFNAME=$nic_name{FOUR}
        """), {PLACED: "fail"}, says="the same value in HCCL_SOCKET_IFNAME, TP_SOCKET_IFNAME",
         fix="write export GLOO_SOCKET_IFNAME=lo HCCL_SOCKET_IFNAME=lo TP_SOCKET_IFNAME=lo"),
    case("interfaces-in-a-file", sh(f". ./env.sh{SERVE}"), {PLACED: "fail"},
         files={"env.sh": "export GLOO_SOCKET_IFNAME=bond4\n"}),
    case("interface-to-be-filled-in", _setting('GLOO_SOCKET_IFNAME="<nic>"'), {PLACED: "fail"}),
    case("interface-of-hccl-by-its-whole-name", _setting("HCCL_SOCKET_IFNAME==ens,bond", FOUR), {PLACED: "fail"}),
    case("interface-excluded-for-gloo", _setting("GLOO_SOCKET_IFNAME=^lo"), {PLACED: "fail"}),
    case("interface-by-its-address", _setting('GLOO_SOCKET_IFNAME="$(hostname -I | cut -d" " -f1)"'),
         {PLACED: "fail"}),
    case("interface-beside-the-loopback", _setting("GLOO_SOCKET_IFNAME=lo,ens1f0"), {PLACED: "fail"}),
    case("interface-of-a-container", _setting("GLOO_SOCKET_IFNAME=eth0"), {PLACED: "warn"}),
    case("interface-of-hccl-for-four", _setting("HCCL_SOCKET_IFNAME==enp23s0f3", FOUR), {PLACED: "fail"},
         says="EI0001"),
    case("interface-of-hccl-for-one", _setting("HCCL_SOCKET_IFNAME=enp23s0f3"), {PLACED: "warn"}),
    case("interfaces-of-hccl-by-family", _setting("HCCL_SOCKET_IFNAME=en,ib", FOUR), {PLACED: "warn"}),
    case("address-of-hccl-for-four", _setting("HCCL_IF_IP=192.0.2.11", FOUR), {PLACED: "fail"}),
    case("address-of-hccl-for-one", _setting("HCCL_IF_IP=192.0.2.11"), {PLACED: "warn"}),
    case("address-of-vllm-for-one", _setting("VLLM_HOST_IP=192.0.2.11"), {PLACED: "fail"},
         fix="write export VLLM_HOST_IP=127.0.0.1"),
    case("address-of-vllm-for-four", _setting("VLLM_HOST_IP=192.0.2.11", FOUR), {PLACED: "warn"}),
    case("name-for-the-address-of-vllm", _setting("VLLM_HOST_IP=node-1"), {PLACED: "fail"}),
    case("loopback-elsewhere-for-four", _setting("VLLM_LOOPBACK_IP=192.0.2.11", FOUR), {PLACED: "fail"}),
    case("interface-for-sglang", bash("""
        export GLOO_SOCKET_IFNAME=ens1f0
        exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000
        """), {PLACED: "warn", "plan/engine-installed": "warn", "plan/self-contained": "warn"}),
)  # fmt: skip
RIGHT_ENVIRONMENT: tuple[Case, ...] = (
    case("allocator-without-segments", _setting("PYTORCH_NPU_ALLOC_CONF=max_split_size_mb:256,expandable_segments:False")),
    case("recipe-for-one-npu", bash(f"""
        export VLLM_USE_V1=1
        export TASK_QUEUE_ENABLE=1
        export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
        export HCCL_OP_EXPANSION_MODE="AIV"
        export OMP_NUM_THREADS=1 OMP_PROC_BIND=false{SERVE}
        """)),
    case("recipe-for-four-npus", bash(f"""
        export HCCL_BUFFSIZE=1024
        export HCCL_CONNECT_TIMEOUT=1200
        export HCCL_INTRA_ROCE_ENABLE=1
        export VLLM_WORKER_MULTIPROC_METHOD=spawn{FOUR}
        """)),
    case("recipe-with-logs", _setting("VLLM_LOGGING_LEVEL=INFO VLLM_CONFIGURE_LOGGING=1 ASCEND_GLOBAL_LOG_LEVEL=3")),
    case("level-in-small-letters", _setting("VLLM_LOGGING_LEVEL=debug")),
    case("usage-is-not-reported", _setting("VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 VLLM_DO_NOT_TRACK=true")),
    case("hub-in-words", _setting("VLLM_USE_MODELSCOPE=True HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1")),
    case("long-context-in-words", _setting("VLLM_ALLOW_LONG_MAX_MODEL_LEN=true")),
    case("timeouts", _setting("VLLM_ENGINE_READY_TIMEOUT_S=3600 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=1200")),
    case("timeout-of-an-older-release", _setting("VLLM_RPC_TIMEOUT=3600000")),
    case("backend-of-an-older-release", _setting("VLLM_ATTENTION_BACKEND=ASCEND VLLM_TORCH_PROFILER_DIR=/tmp/p")),
    case("interval-with-a-fraction", _setting("VLLM_LOG_STATS_INTERVAL=2.5 VLLM_MEDIA_CACHE_TTL_HOURS=24")),
    case("limits-of-media", _setting("VLLM_IMAGE_FETCH_TIMEOUT=30 VLLM_MM_HASHER_ALGORITHM=SHA256")),
    case("variable-of-a-plugin", _setting("VLLM_MY_PLUGIN_TABLES=fast")),
    case("optimisations-of-vllm-ascend", _setting("VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_NZ=2")),
    case("loopback-of-all", _setting("GLOO_SOCKET_IFNAME=lo TP_SOCKET_IFNAME=lo HCCL_SOCKET_IFNAME=lo HCCL_IF_IP=127.0.0.1", FOUR)),
    case("addresses-of-this-machine", _setting("VLLM_HOST_IP=127.0.0.1 MASTER_ADDR=localhost MASTER_PORT=29500 VLLM_LOOPBACK_IP=127.0.0.1")),
    case("address-looked-up", bash(f"""
        ip=$(hostname -I | awk '{{print $1}}')
        export HCCL_IF_IP=$ip VLLM_HOST_IP=$ip{FOUR}
        """)),
    case("interface-looked-up", bash(f"""
        nic=$(ip -o -4 route show default | awk '{{print $5; exit}}')
        export GLOO_SOCKET_IFNAME=$nic HCCL_SOCKET_IFNAME=$nic TP_SOCKET_IFNAME=$nic{FOUR}
        """)),
    case("interfaces-excluded", _setting("HCCL_SOCKET_IFNAME=^docker,veth NCCL_SOCKET_IFNAME=^lo", FOUR)),
    case("interface-without-a-use", _setting("TP_SOCKET_IFNAME=ens1f0 NCCL_SOCKET_IFNAME=ens1f0")),
    case("interfaces-empty", _setting("GLOO_SOCKET_IFNAME= HCCL_IF_IP=")),
    case("interface-for-a-step", sh(f"GLOO_SOCKET_IFNAME=ens1f0 python3 -c 'print(1)'{SERVE}")),
)  # fmt: skip
