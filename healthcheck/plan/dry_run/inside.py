"""The process that becomes the sandbox of a dry run."""

from __future__ import annotations

from healthcheck.plan.dry_run import answering, machine
from healthcheck.plan.servers import python_path
from healthcheck.plan.servers.named_files import FILE_VARIABLES
from healthcheck.sandbox import jail
from healthcheck.sandbox.guest import Guest

_GUEST = Guest(
    install=machine.install,
    furnish=machine.furnish,
    is_absent=machine.is_absent,
    owned=("/usr/local/Ascend", machine.IMAGE_PACKAGES, *machine.IMAGE_FOLDERS),
    owned_alone=(machine.IMAGE_SOURCES,),
    reads=answering.reads,
    file_variables=FILE_VARIABLES,
    modules=python_path.found,
    served=answering.served,
)


def main() -> None:
    jail.main(_GUEST)
