#!/bin/sh
exec @KIT@/py/bin/python3 -I -S -B -X utf8 @KIT@/lib/healthcheck/stages/plan/dry_run/stubs/placeholder.py @KIT@ "$0" "$@"
