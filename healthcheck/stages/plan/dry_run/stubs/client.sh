#!/bin/sh
if [ -e @KIT@/loading ]; then
    case " $*" in
        *--retry*) ;;
        *[\ /@]localhost* | *[\ /@]127.* | *[\ /@]0.0.0.0* | *'[::'*)
            echo asked >>@KIT@/run/notes
            case "$*" in *'%{http_code}'*) printf 000 ;; esac
            case ${0##*/} in curl) exit 7 ;; wget) exit 4 ;; *) exit 1 ;; esac ;;
    esac
fi
exec @KIT@/py/bin/python3 -I -S -B -X utf8 @KIT@/lib/healthcheck/stages/plan/dry_run/stubs/client.py @KIT@ "$0" "$@"
