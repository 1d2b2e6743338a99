#!/bin/sh
# What root may do, and the rehearsed user not: it succeeds where there is something to do it to.
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
