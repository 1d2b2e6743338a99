"""Is a launch still working? Responses of a server that loads may look final and are not."""

from __future__ import annotations

from dataclasses import dataclass, field

from healthcheck.system.processes import Activity

BUSY_CPU_SHARE = 0.1
"""A share of one CPU: far below that of loading and compiling, above that of the kit's own requests."""
BUSY_IO_BYTES_PER_S = 4 * 2**20
WINDOW_S = 2.0


@dataclass(slots=True)
class Work:
    """When the processes of a launch last computed or read in earnest, in seconds of the launch.

    CPU time of processes that ended meanwhile is gone from the sum: a fall counts as work too.
    """

    window_s: float = WINDOW_S
    _used: Activity = field(default_factory=Activity)
    _began_s: float = 0.0
    _busy_s: float = 0.0

    def look(self, used: Activity, now_s: float) -> None:
        """Take in a reading; it is judged over windows, as one look says little."""
        passed_s = now_s - self._began_s
        if passed_s < self.window_s:
            return
        cpu_s, io_bytes = abs(used.cpu_s - self._used.cpu_s), abs(used.io_bytes - self._used.io_bytes)
        if cpu_s > BUSY_CPU_SHARE * passed_s or io_bytes > BUSY_IO_BYTES_PER_S * passed_s:
            self._busy_s = now_s
        self._used, self._began_s = used, now_s

    def quiet_s(self, now_s: float) -> float:
        """For how long nothing of the kind was seen."""
        return now_s - self._busy_s
