#!/bin/sh
if [ "${1##*/}" = vllm ] && [ "$1" -ef @KIT@/vllm.py ]; then
    program=$1
    shift
    exec /bin/sh -c '. @KIT@/server.sh' "$program" "$@"
fi
exec @KIT@/py/bin/python3 -I -S -B -X utf8 @KIT@/lib/healthcheck/stages/plan/dry_run/stubs/python.py @KIT@ "$0" "$@"
