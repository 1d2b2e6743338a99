"""A torch, a torch_npu and a torch.distributed that compute on lists, for the programs that try the real ones.

Their behaviour is told by TORCH_STUBS, a JSON object in the environment: what fails, what is wrong, what hangs.
"""

from __future__ import annotations

from pathlib import Path

TORCH = """
import json, os, sys, time, types
TOLD = json.loads(os.environ.get("TORCH_STUBS", "{}"))
__version__ = "2.9.0"
float16, bfloat16, float32 = "float16", "bfloat16", "float32"

MOST = 8  # elements in a row: products of a real size take minutes on lists

class Tensor:
    def __init__(self, rows, place="cpu"):
        self.rows, self.place = rows, place
    def to(self, what):
        return Tensor(self.rows, what if str(what).startswith("npu") else self.place)
    def float(self):
        return self
    def cpu(self):
        return Tensor(self.rows)
    def tolist(self):
        return self.rows
    def sum(self):
        return sum(value for row in self.rows for value in row)
    def __ne__(self, other):
        if isinstance(other, float):
            return Tensor([[int(value != other) for value in self.rows]])
        return Tensor([[int(a != b) for a, b in zip(*rows)] for rows in zip(self.rows, other.rows)])
    def __matmul__(self, other):
        if self.place == TOLD.get("hangs_on"):
            time.sleep(60)
        if self.place == TOLD.get("crashes_on"):
            os.abort()
        if self.place == TOLD.get("fails_on"):
            raise RuntimeError("NPU function error: aclnnMatmul, error code is 561103")
        columns = list(zip(*other.rows))
        rows = [[sum(a * b for a, b in zip(row, column)) for column in columns] for row in self.rows]
        if self.place == TOLD.get("wrong_on"):
            rows[3][5] += 1
        return Tensor(rows, self.place)

def tensor(rows):
    return Tensor(rows)

def full(shape, value):
    return Tensor([value] * min(shape[0], MOST))

def randint(low, high, shape):
    return Tensor([[(3 * i + 5 * j) % (high - low) + low for j in range(min(shape[1], MOST))] for i in range(min(shape[0], MOST))])

def manual_seed(seed):
    pass

ops = types.SimpleNamespace(_C_ascend=types.SimpleNamespace(weak_ref_tensor=None, bgmv_expand=None))

def _count():
    print("[W compiler.ts:1] noise of the driver", flush=True)
    if "count_error" in TOLD:
        raise RuntimeError(TOLD["count_error"])
    return TOLD.get("count", 1)

npu = types.SimpleNamespace(
    device_count=_count,
    set_device=lambda index: None,
    synchronize=lambda index: None,
    mem_get_info=lambda index: (60 * 2**30, 61 * 2**30),
    get_device_name=lambda index: "Ascend910B3",
    is_bf16_supported=lambda: TOLD.get("bfloat16", True),
)
"""
TORCH_NPU = """
import torch
__version__ = "2.9.0.post1+gitabc"
if "import_error" in torch.TOLD:
    raise ImportError(torch.TOLD["import_error"])
if "import_exit" in torch.TOLD:
    raise SystemExit(torch.TOLD["import_exit"])
"""
DISTRIBUTED = """
import os, time
from torch import TOLD
_group, _meetings = {}, {}

def init_process_group(backend, init_method, rank, world_size, timeout):
    assert backend == "hccl" and init_method.startswith("tcp://")
    if TOLD.get("lost_rank") in (rank, "any"):
        raise RuntimeError("EI0006: getting socket times out")
    _group.update(rank=rank, world=world_size, port=init_method.rpartition(":")[2])

def new_group(ranks):
    return tuple(ranks)

def _meet(mine, group):
    at = _meetings[group] = _meetings.get(group, 0) + 1
    def place(rank):
        return os.path.join(TOLD["meeting"], f"{_group['port']}.{'-'.join(map(str, group))}.{at}.{rank}")
    with open(place(_group["rank"]) + ".new", "w") as file:
        file.write(str(mine))
    os.rename(place(_group["rank"]) + ".new", place(_group["rank"]))
    given = []
    for rank in group:
        while not os.path.exists(place(rank)):
            time.sleep(0.01)
        given.append(float(open(place(rank)).read()))
    return given

def all_reduce(values, group=None):
    members = group or tuple(range(_group["world"]))
    if list(members) == TOLD.get("broken_pair"):
        raise RuntimeError("EI0006: getting socket times out")
    total = sum(_meet(values.rows[0], members))
    if TOLD.get("wrong_rank") in (_group["rank"], "any"):
        total += 1
    values.rows = [total] * len(values.rows)

def barrier():
    _meet(0, tuple(range(_group["world"])))

def destroy_process_group():
    pass
"""
OPERATORS = """
import torch
if "operators_error" in torch.TOLD:
    raise ImportError(torch.TOLD["operators_error"])
"""


def write(folder: Path) -> Path:
    """A folder for PYTHONPATH with the stubs, as installed packages."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "__init__.py").write_text(TORCH, encoding="utf-8")
    (folder / "torch" / "distributed.py").write_text(DISTRIBUTED, encoding="utf-8")
    (folder / "torch_npu").mkdir()
    (folder / "torch_npu" / "__init__.py").write_text(TORCH_NPU, encoding="utf-8")
    (folder / "vllm_ascend").mkdir()
    (folder / "vllm_ascend" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "vllm_ascend" / "vllm_ascend_C.py").write_text(OPERATORS, encoding="utf-8")
    for name, version in (
        ("torch", "2.9.0"),
        ("torch_npu", "2.9.0.post1"),
        ("vllm_ascend", "0.18.0"),
    ):
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
        (info / "METADATA").write_text(text, encoding="utf-8")
    return folder
