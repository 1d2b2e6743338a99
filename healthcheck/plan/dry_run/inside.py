"""The process that becomes the sandbox of a dry run."""

from __future__ import annotations

from healthcheck.plan.dry_run import answering, machine
from healthcheck.sandbox import jail
from healthcheck.sandbox.guest import Guest

_GUEST = Guest(
    install=machine.install,
    furnish=machine.furnish,
    is_absent=machine.is_absent,
    owned=("/usr/local/Ascend", machine.IMAGE_PACKAGES, *machine.IMAGE_FOLDERS),
    owned_alone=(machine.IMAGE_SOURCES,),
    served=answering.served,
)


def main() -> None:
    jail.main(_GUEST)
