"""The process that becomes the sandbox of a dry run."""

from __future__ import annotations

from healthcheck.engines.known import LAUNCHES
from healthcheck.sandbox import jail
from healthcheck.sandbox.guest import Guest, Role
from healthcheck.stages.plan import image
from healthcheck.stages.plan.dry_run import answering, stubbed_machine
from healthcheck.stages.plan.servers import python_path
from healthcheck.stages.plan.servers.named_files import FILE_VARIABLES
from healthcheck.stages.plan.servers.options import grammar_of

_GUEST = Guest(
    install=stubbed_machine.install,
    scripts=stubbed_machine.SCRIPTS,
    roles={
        "server.py": Role.SERVES_ITS_WORDS,
        "python.py": Role.SERVES_ANYTHING,
    },
    furnish=stubbed_machine.furnish,
    renamed=stubbed_machine.RENAMED,
    is_absent=stubbed_machine.is_absent,
    owned=("/usr/local/Ascend", image.IMAGE_PACKAGES, *image.IMAGE_FOLDERS),
    owned_alone=(image.IMAGE_SOURCES,),
    reads=answering.reads,
    file_variables=FILE_VARIABLES,
    modules=python_path.found,
    served=answering.served,
)


def main() -> None:
    for launch in LAUNCHES:
        grammar_of(launch)  # read now: the sandbox has no access to the catalogues
    jail.main(_GUEST)
