#!/bin/sh
# The real df, which may not read the table of mounts here and so needs a place.
before=
for argument; do
    case $before:$argument in
        -t:* | -x:* | -B:* | --type:* | --exclude-type:* | --block-size:* | *:-*) ;;
        *) place=$argument ;;
    esac
    before=$argument
done
[ -n "${place:-}" ] || set -- "$@" /
for real in /usr/bin/df /bin/df; do
    if [ -x $real ]; then exec $real "$@" 2>/dev/null; fi
done
exit 1
