"""`python3 -I -m healthcheck` is the same command as `npu-adapter`.

Without -I (or -P), Python itself looks into the folder that it is started in, before anything of this runs.
"""

from healthcheck.entry import main

raise SystemExit(main())
