#!/bin/sh
# What only root may do: it does nothing, and succeeds if its last argument exists.
case ${0##*/} in
    chown | chgrp)
        for last; do :; done
        if [ $# -lt 2 ] || ! [ -e "${last:-}" ]; then
            echo "${0##*/}: cannot access '${last:-}': No such file or directory" >&2
            exit 1
        fi ;;
    chpasswd) cat >/dev/null ;;
esac
exit 0
