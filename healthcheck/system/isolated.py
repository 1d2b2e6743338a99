"""Runs first in a child process of the kit: `python -I -S isolated.py FOLDERS MODULE [ARGUMENT …]`.

An isolated interpreter (-I) imports only from its standard library. FOLDERS come after it on the search path.
"""

from __future__ import annotations

import importlib
import sys


def main() -> None:
    _, folders, module, *arguments = sys.argv
    sys.path += folders.split(":")
    sys.argv = [module, *arguments]
    importlib.import_module(module).main()


if __name__ == "__main__":
    main()
