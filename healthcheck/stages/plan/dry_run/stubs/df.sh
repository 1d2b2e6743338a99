#!/bin/sh
# The real df, which may not read the table of mounts here and so needs a place.
for argument; do
    case $argument in -*) ;; *) place=$argument ;; esac
done
[ -n "${place:-}" ] || set -- "$@" /
for real in /usr/bin/df /bin/df; do
    if [ -x $real ] && [ ! -L $real ]; then exec $real "$@" 2>/dev/null; fi
done
