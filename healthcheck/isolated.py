"""The first lines of a child that the kit starts: `python -I -S isolated.py FOLDERS MODULE [ARGUMENT …]`.

Isolated (-I), an interpreter imports from its standard library alone. What else it needs stands behind that.
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
