"""All checks of a machine, in the order in which a person would look."""

from __future__ import annotations

from healthcheck.runner import check_compute, check_devices, check_host, check_software

CHECKS = (
    *check_devices.CHECKS,
    *check_software.CHECKS,
    *check_compute.CHECKS,
    *check_host.CHECKS,
)
