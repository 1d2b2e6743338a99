#!/bin/sh
#:common
seconds=${1:-0}
case $seconds in
    inf* | *d) record sleep "$@"; read -r forever <@KIT@/forever ;;
    *h | *[0-9][0-9][0-9][0-9][0-9]) record sleep "$@"; read -r forever <@KIT@/forever ;;
    *[!0-9.smh]* | '') echo "sleep: invalid time interval '$seconds'" >&2; exit 1 ;;
esac
echo "$seconds" >>@KIT@/slept
whole() {
    number=${1%[smh]}
    number=${number%%.*}
    case $1 in *m) echo $((${number:-0} * 60)) ;; *h) echo $((${number:-0} * 3600)) ;; *) echo "${number:-0}" ;; esac
}
if [ -e @KIT@/loading ] && [ -n "${REHEARSED_TIMER:-}" ]; then
    passed=0
    [ ! -e "@KIT@/timer.$REHEARSED_TIMER" ] || read -r passed <"@KIT@/timer.$REHEARSED_TIMER"
    passed=$((passed + $(whole "$seconds")))
    echo $passed >"@KIT@/timer.$REHEARSED_TIMER"
    if [ $passed -ge "$(whole "$REHEARSED_TIME_LIMIT")" ]; then kill -ALRM "$REHEARSED_TIMER" && ends=1; fi
fi
if [ ! -e @KIT@/serving ] || [ -n "${ends:-}" ]; then
    for real in @HOST@/usr/bin/sleep @HOST@/bin/sleep /usr/bin/sleep /bin/sleep; do
        if [ -x $real ] && [ ! -L $real ]; then
            : >@KIT@/napping/$$
            exec $real ${ends:-0.15}
        fi
    done
fi
exit 0
