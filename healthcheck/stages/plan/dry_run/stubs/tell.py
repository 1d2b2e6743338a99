"""Records a command of a shell stub that does not fit into one line of a note."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, f"{sys.argv[1]}/lib")

from healthcheck.stages.plan.dry_run.stubs import note

if __name__ == "__main__":
    note.record(sys.argv[2], sys.argv[3], *sys.argv[4:], pid=os.getppid())
