"""A report that is written to a device leaves the device what it is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from healthcheck.files import write_atomically


def test_a_device_is_written_to_and_not_replaced() -> None:
    keeper, device = os.openpty()
    try:
        place = Path(os.ttyname(device))
        write_atomically(place, b"report")
        assert os.read(keeper, 6) == b"report"
        assert stat.S_ISCHR(place.stat().st_mode)
    finally:
        os.close(keeper)
        os.close(device)
