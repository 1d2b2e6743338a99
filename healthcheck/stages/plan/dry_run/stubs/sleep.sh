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
note "slept@BETWEEN@$seconds@BETWEEN@$naps@BETWEEN@$$@BETWEEN@${@TIMER@:-}@BETWEEN@${@TIME_LIMIT@:-}" && [ -e @KIT@/loading ] && read -r answer <@KIT@/run/noted
real=
for place in @HOST@/usr/bin/sleep @HOST@/bin/sleep /usr/bin/sleep /bin/sleep; do
    if [ -z "$real" ] && [ -x $place ] && [ ! -L $place ]; then real=$place; fi
done
# A long sleep leaves a server that was started beside it the time to start.
case $seconds in
    *m | [1-9][0-9][0-9]*) naps_left=12 ;;
    *) naps_left=1 ;;
esac
while [ -n "$naps" ] && [ -n "$real" ] && [ $naps_left -gt 0 ] && [ ! -s @KIT@/run/serving ]; do
    $real 0.15
    naps_left=$((naps_left - 1))
done
exit 0
