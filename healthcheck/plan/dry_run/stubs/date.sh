#!/bin/sh
for argument; do
    case $argument in -d | -r | -s | --date* | --reference* | --set*) asked=other ;; esac
done
passed=0
if [ -e @KIT@/slept ] && [ -z "${asked:-}" ]; then
    while read -r seconds; do
        number=${seconds%[smh]}
        number=${number%%.*}
        case $seconds in *m) number=$((${number:-0} * 60)) ;; *h) number=$((${number:-0} * 3600)) ;; esac
        passed=$((passed + ${number:-0}))
    done <@KIT@/slept
    set -- -d "now + $passed seconds" "$@"
fi
for real in @HOST@/usr/bin/date @HOST@/bin/date /usr/bin/date /bin/date; do
    if [ -x $real ] && [ ! -L $real ]; then exec $real "$@"; fi
done
