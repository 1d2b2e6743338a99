"""`python3 -m healthcheck` is the same command as `npu-adapter`."""

from healthcheck.cli import main

raise SystemExit(main())
