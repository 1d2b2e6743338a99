#!/bin/sh
#:common
seconds=${1:-0}
case $seconds in
    inf* | *d) record sleep "$@"; read -r forever <@KIT@/forever ;;
    *h | *[0-9][0-9][0-9][0-9][0-9]) record sleep "$@"; read -r forever <@KIT@/forever ;;
    *[!0-9.smh]* | '') echo "sleep: invalid time interval '$seconds'" >&2; exit 1 ;;
esac
echo "$seconds" >>@KIT@/slept
if [ ! -e @KIT@/serving ]; then
    for real in /.host/usr/bin/sleep /.host/bin/sleep /usr/bin/sleep /bin/sleep; do
        if [ -x $real ] && [ ! -L $real ]; then
            : >@KIT@/napping/$$
            exec $real 0.15
        fi
    done
fi
exit 0
