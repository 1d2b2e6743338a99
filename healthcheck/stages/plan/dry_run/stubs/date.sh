#!/bin/sh
for argument; do
    case $argument in -d | -r | -s | --date* | --reference* | --set*) asked=other ;; esac
done
if [ -s @KIT@/run/passed ] && [ -z "${asked:-}" ]; then
    read -r passed <@KIT@/run/passed
    set -- -d "now + $passed seconds" "$@"
fi
for real in @HOST@/usr/bin/date @HOST@/bin/date /usr/bin/date /bin/date; do
    if [ -x $real ] && [ ! -L $real ]; then exec $real "$@"; fi
done
