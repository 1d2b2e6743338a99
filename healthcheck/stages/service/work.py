"""Detects whether a launch is still working: responses of a loading server may look final."""

from __future__ import annotations

from dataclasses import dataclass, field

from healthcheck.system.processes import Activity

BUSY_CPU_SHARE = 0.1
"""A share of one CPU: far below that of loading and compiling, above that of the kit's own requests."""
BUSY_IO_BYTES_PER_S = 4 * 2**20
WINDOW_S = 2.0


@dataclass(slots=True)
class Work:
    """When the processes of a launch last did substantial work, in seconds of the launch.

    The sum loses the CPU time of processes that ended meanwhile: a fall counts as work too.
    """

    window_s: float = WINDOW_S
    _used: Activity = field(default_factory=Activity)
    _began_s: float = 0.0
    _busy_s: float = 0.0

    def look(self, used: Activity, now_s: float) -> None:
        """Take a reading; it is judged over windows, since a single one says little."""
        passed_s = now_s - self._began_s
        if passed_s < self.window_s:
            return
        cpu_s, io_bytes = (
            abs(used.cpu_s - self._used.cpu_s),
            abs(used.io_bytes - self._used.io_bytes),
        )
        if cpu_s > BUSY_CPU_SHARE * passed_s or io_bytes > BUSY_IO_BYTES_PER_S * passed_s:
            self._busy_s = now_s
        self._used, self._began_s = used, now_s

    def quiet_s(self, now_s: float) -> float:
        """Seconds since the last substantial work."""
        return now_s - self._busy_s
