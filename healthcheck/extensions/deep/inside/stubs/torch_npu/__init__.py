"""Stub for torch_npu and other modules of CANN, so that vllm-ascend's configuration code can be imported.

It returns the known values of the simulated NPU (NPU_ADAPTER_STUB_NPU, a JSON object). Any other name can be
imported, called and derived from, but has no value: a request for one raises Unanswerable, so that no answer is
made up.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from typing import Any, NoReturn

__version__ = "0.0.0+stub"
ROOTS = frozenset({"acl", "memcache_hybrid", "memfabric_hybrid", "torch_npu", "torchair"})
IF_MISSING = frozenset({"torchaudio", "torchvision"})
"""A registry may have them for CUDA only; importing a vision or audio model requires them."""
NPU = json.loads(os.environ["NPU_ADAPTER_STUB_NPU"])


class Unanswerable(Exception):  # noqa: N818 - its name is what a report shows
    """Code requested a value from a stub."""


def _refuse(self: object, *_: object) -> NoReturn:
    raise Unanswerable(f"{self!r} has no value: nothing of an NPU is here to be asked")


class Stub:
    """A name of torch_npu without a value."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<stub of {self._name}>"

    def __getattr__(self, name: str) -> "Stub":
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self._name}.{name}")

    def __call__(self, *arguments: object, **_: object) -> object:
        # A bare decorator returns the decorated object.
        only = len(arguments) == 1 and isinstance(arguments[0], (types.FunctionType, type))
        return arguments[0] if only else Stub(f"{self._name}(…)")

    def __mro_entries__(self, bases: object) -> tuple[type, ...]:
        return (object,)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __or__(self, other: object) -> "Stub":
        return self

    __ror__ = __or__
    __bool__ = __int__ = __index__ = __float__ = __len__ = __iter__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __sub__ = __mul__ = __floordiv__ = __truediv__ = _refuse


class Module(types.ModuleType):
    """A module that has every name that is imported from it."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return Stub(f"{self.__name__}.{name}")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds packages of these names and their submodules; torch_npu itself is this module."""

    def __init__(self, roots: frozenset[str]) -> None:
        self._roots = roots

    def find_spec(self, name: str, *_: object) -> Any:
        ours = name != "torch_npu" and name.partition(".")[0] in self._roots
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if ours else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = Module(spec.name)
        module.__dict__["__version__"] = __version__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def device_module() -> Any:
    """torch.npu, with the values of the simulated NPU."""
    device: Any = Module("torch.npu")
    device.is_available = lambda: True
    device.is_initialized = lambda: False
    device.device_count = lambda: NPU["devices"]
    device.current_device = lambda: 0
    device.get_device_name = lambda *_: NPU["name"]
    device.get_soc_version = lambda: NPU["soc"]
    device.is_bf16_supported = lambda *_, **__: NPU["bfloat16"]
    device.mem_get_info = lambda *_: (NPU["memory_bytes"], NPU["memory_bytes"])
    return device


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    return Stub(f"torch_npu.{name}")


torch: Any = importlib.import_module("torch")
sys.meta_path.insert(0, Finder(ROOTS))
sys.meta_path.append(Finder(IF_MISSING))
torch.utils.rename_privateuse1_backend("npu")
npu = device_module()
torch._register_device_module("npu", npu)  # noqa: SLF001 - it is what a backend calls
if not hasattr(torch.distributed, "is_hccl_available"):
    torch.distributed.is_hccl_available = lambda: True
