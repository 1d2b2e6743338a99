#!/bin/sh
before=0
after=
for argument; do
    before=$((before + 1))
    case "$after:$argument" in
        :-k | :-s | :--kill-after | :--signal) after=value ;;
        :-*) ;;
        value:*) after= ;;
        *)
            export @TIME_LIMIT@="$argument" @TIMER@=$$
            if [ -e @KIT@/loading ]; then printf '%s\n' "limit@BETWEEN@$$@BETWEEN@$argument" >>@KIT@/run/notes; fi
            break ;;
    esac
done
for real in @HOST@/usr/bin/timeout @HOST@/bin/timeout /usr/bin/timeout /bin/timeout; do
    if [ -x $real ] && [ ! -L $real ]; then exec $real "$@"; fi
done
shift $before
exec "$@"
