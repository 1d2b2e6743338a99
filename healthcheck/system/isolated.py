"""The first lines of a child that the kit starts: `python -I -S isolated.py FOLDERS MODULE [ARGUMENT …]`.

An isolated interpreter (-I) imports from its standard library only. Other folders come after that on its path.
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
