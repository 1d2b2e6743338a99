#!/bin/sh
#:common
record exec "$@"
case "${1:-}" in
    clone)
        for argument; do last=$argument; done
        case $last in
            *://* | *@*:*) last=${last##*/}; last=${last%.git} ;;
        esac
        mkdir -p -- "$last" ;;
    --version) echo "git version 2.34.1" ;;
    rev-parse | describe | log | branch | status | diff | remote)
        root=$PWD
        while [ ! -e "$root/@SCRIPT@" ] && [ -n "$root" ]; do root=${root%/*}; done
        if [ -z "$root" ]; then
            echo "fatal: not a git repository (or any of the parent directories): .git" >&2
            exit 128
        fi
        case "$*" in
            *--show-toplevel*) echo "$root" ;;
            *--abbrev-ref* | branch*) echo main ;;
            *--short* | describe* | *%h*) echo 1234567 ;;
            status* | diff* | remote*) ;;
            *) echo 1234567890abcdef1234567890abcdef12345678 ;;
        esac ;;
    lfs | config | init | submodule | pull | fetch | checkout) ;;
    *) echo "fatal: not a git repository (or any of the parent directories): .git" >&2; exit 128 ;;
esac
exit 0
