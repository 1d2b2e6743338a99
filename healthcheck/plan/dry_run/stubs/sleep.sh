#!/bin/sh
#:common
seconds=${1:-0}
case $seconds in
    inf* | *d) record sleep "$@"; read -r forever <@KIT@/forever ;;
    *h | *[0-9][0-9][0-9][0-9][0-9]) record sleep "$@"; read -r forever <@KIT@/forever ;;
    *[!0-9.smh]* | '') echo "sleep: invalid time interval '$seconds'" >&2; exit 1 ;;
esac
naps=
[ -s @KIT@/run/serving ] || naps=$$
note "slept@BETWEEN@$seconds@BETWEEN@$naps@BETWEEN@$$@BETWEEN@${DRY_RUN_TIMER:-}@BETWEEN@${DRY_RUN_TIME_LIMIT:-}" && [ -e @KIT@/loading ] && read -r answer <@KIT@/run/noted
if [ -n "$naps" ]; then
    for real in @HOST@/usr/bin/sleep @HOST@/bin/sleep /usr/bin/sleep /bin/sleep; do
        if [ -x $real ] && [ ! -L $real ]; then exec $real 0.15; fi
    done
fi
exit 0
