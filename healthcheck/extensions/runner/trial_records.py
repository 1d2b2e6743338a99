"""The results of the programs in `children`, which try the devices. None and "" are unknown values."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from healthcheck.machine.interface import Output
from healthcheck.text.messages import msg


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A matrix product on a device: the number of elements that differ from the CPU's, and of all elements."""

    index: int
    kind: str
    wrong: int
    of: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device as torch_npu sees it; `index` counts from 0 among the visible ones."""

    index: int
    name: str | None = None
    free_bytes: int | None = None
    total_bytes: int | None = None
    bfloat16: bool | None = None
    products: tuple[Product, ...] = ()

    @property
    def right(self) -> bool:
        """Whether it computed, with every element equal to the CPU's."""
        return bool(self.products) and not any(product.wrong for product in self.products)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialError:
    """An error in a trial of the devices.

    Attributes:
        at: what failed, in words.
        text: the error's text.
        during: the program's step, by its own name.
        device: the index of the device, None if the error concerns none.
    """

    at: str
    text: str
    during: str = ""
    device: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The output of a program, and the errors in it."""

    output: Output
    errors: tuple[TrialError, ...] = ()

    @property
    def ending(self) -> str:
        """How the program ended, for a trial that lacks a result."""
        return self.output.trouble or msg(
            "the program ended with status {status}", status=self.output.status
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Torch:
    """The results of a trial of torch_npu.

    Attributes:
        output: of the child; None if it did not run, because the package is not installed.
        last: the last step, in words.
        last_device: the index of the device in that step, None without one.
        at_end: whether that step was its regular end.
        count: number of devices according to torch_npu.
    """

    output: Output | None = None
    last: str = ""
    last_device: int | None = None
    at_end: bool = False
    errors: tuple[TrialError, ...] = ()
    imported: bool = False
    count: int | None = None
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hccl(Trial):
    """The result of an all-reduce; `right` holds the ranks that got the sum."""

    world: int
    right: tuple[int, ...] = ()
    wrong: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators(Trial):
    """The import of vllm-ascend's own operators.

    Attributes:
        module: the module that was imported, "" if none was.
        count: number of registered operators, None if unknown.
    """

    module: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An all-reduce over two devices, as each of them reported it.

    Attributes:
        right, wrong: the devices that got the sum, and those that got another.
        seconds: the time of each repetition on the slower device.
    """

    devices: tuple[int, int]
    right: tuple[int, ...]
    wrong: tuple[int, ...]
    bytes: int
    seconds: tuple[float, ...]

    @property
    def bytes_per_s(self) -> float | None:
        """The median over the repetitions, None without one."""
        rates = [self.bytes / max(seconds, 1e-9) for seconds in self.seconds]
        return statistics.median(rates) if rates else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs(Trial):
    """The pairs that were tried, of `world` devices."""

    world: int
    each: tuple[Pair, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A device's products in a part of the soak, which ended `at_s` after its begin."""

    index: int
    at_s: float
    seconds: float
    products: int
    wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The temperature of a chip at a moment of the soak."""

    at_s: float
    npu: int
    chip: int
    temperature_c: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak(Trial):
    """The same exact products on all devices at once, for a while.

    Attributes:
        asked_s: the requested duration.
        count: the number of devices.
        operations: floating-point operations of one product.
    """

    asked_s: float
    count: int
    operations: float = 0.0
    windows: tuple[Window, ...] = ()
    readings: tuple[Reading, ...] = ()

    @property
    def lasted_s(self) -> float:
        """When the last window of any device ended."""
        return max((window.at_s for window in self.windows), default=0.0)

    def own(self, device: int) -> tuple[Window, ...]:
        """The windows of a device."""
        return tuple(window for window in self.windows if window.index == device)

    def ended_s(self, device: int) -> float:
        """When the last window of a device ended, 0 if it completed none."""
        return max((window.at_s for window in self.own(device)), default=0.0)

    def speeds(self, device: int) -> tuple[tuple[float, float], ...]:
        """The end of each window of a device, and its TFLOP/s; the first includes the compilation of operators."""
        return tuple(
            (window.at_s, window.products * self.operations / max(window.seconds, 1e-9) / 1e12)
            for window in self.own(device)
        )

    def speed(self, device: int) -> float | None:
        """The median of a device's TFLOP/s, None if it completed no window."""
        speeds = [speed for _, speed in self.speeds(device)]
        return statistics.median(speeds[1:] or speeds) if speeds else None
