"""Placeholders for the values of a library: they support every operation and have no meaning."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Any

MARK = "<unresolved:"
_TYPES = re.compile(r"'(?:Anything|_?Library)'|\bnot (?:Anything|_?Library)\b")
_KEPT = 100
called: list[str] = []
"""The first calls into absent libraries, in order."""
decided: list[str] = []
"""Placeholders that a program compared or tested for truth, and so may have branched on."""
_COMPUTES = {
    "LLM", "PIL", "accelerate", "datasets", "numpy", "peft", "pipeline", "qwen_vl_utils", "safetensors",
    "tokenizers", "torch", "torch_npu", "tqdm", "transformers",
}  # fmt: skip
"""Libraries that load models and compute, but never open a port."""


def guessed() -> list[str]:
    """The uses for which a program without a server may have needed the real libraries."""
    serving = [
        name
        for name in called
        if re.split(r"[.(]", name)[0] not in _COMPUTES and name != "vllm.SamplingParams"
    ]
    return called if serving else decided


def is_about_a_stub(problem: BaseException | None) -> bool:
    """Whether an exception comes from a placeholder or is about one; the real library may not raise it."""
    if problem is None:
        return False
    frame, file = problem.__traceback__, ""
    while frame is not None:
        file, frame = frame.tb_frame.f_code.co_filename, frame.tb_next
    return file == __file__ or MARK in str(problem) or _TYPES.search(str(problem)) is not None


def _attribute(owner: str, name: str) -> Any:
    """An attribute of a library: an exception class if the name looks like one, for `except`, else a placeholder.

    Raises:
        AttributeError: for a special method.
    """
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    if name[:1].isupper() and name.endswith(
        ("Error", "Exception", "Timeout", "Warning", "Interrupt")
    ):
        return type(name, (Exception,), {})
    return Anything(f"{owner}.{name}")


def _decides(answer: Any) -> Any:
    """A special method that returns `answer` and records that the program may branch on it."""

    def method(self: Anything, *_: Any) -> Any:
        self._decided()
        return answer

    return method


class Anything:
    """A placeholder for a value of an absent library. Its text names the value and never looks like a real one."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        return _attribute(self._name, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(called) < _KEPT:
            called.append(self._name)
        decorates = (
            len(args) == 1 and not kwargs and isinstance(args[0], (types.FunctionType, type))
        )
        return args[0] if decorates else Anything(f"{self._name}()")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (Base,)

    def __str__(self) -> str:
        return f"{MARK}{self._name}>"

    __fspath__ = __str__

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    __await__ = __iter__

    def __enter__(self) -> Any:
        return self

    __aiter__ = __enter__

    async def __aenter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        raise StopAsyncIteration

    def __exit__(self, *_: object) -> None:
        return None

    __setitem__ = __exit__

    async def __aexit__(self, *_: object) -> None:
        return None

    def __getitem__(self, key: Any) -> Any:
        return Anything(f"{self._name}[...]")

    def __int__(self) -> int:
        return 1

    __index__ = __int__

    def __float__(self) -> float:
        return 1.0

    def __hash__(self) -> int:
        return hash(self._name)

    def _decided(self) -> None:
        if len(decided) < _KEPT:
            decided.append(self._name)

    def __eq__(self, other: object) -> bool:
        self._decided()
        return self is other

    __contains__ = __lt__ = __gt__ = _decides(False)
    __bool__ = __le__ = __ge__ = _decides(True)
    __len__ = _decides(0)

    def _other(self, *_: Any) -> Any:
        return Anything(self._name)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        _other
    )
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __or__ = __ror__ = __and__ = __neg__ = (
        __matmul__
    ) = _other


class Base:
    """Base for classes of the submission that inherit from a class of a library."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        return _attribute(type(self).__name__, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return Anything(f"{type(self).__name__}()")

    def __getitem__(self, key: Any) -> Any:
        held = self.__dict__.get("items_", {})
        return held[key] if key in held else Anything(f"{type(self).__name__}[...]")

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__dict__.setdefault("items_", {})[key] = value

    def __contains__(self, key: Any) -> bool:
        return key in self.__dict__.get("items_", {})

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class Module(types.ModuleType):
    """An absent library."""

    def __getattr__(self, name: str) -> Any:
        return _attribute(self.__name__, name)
