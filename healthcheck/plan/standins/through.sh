#!/bin/sh
name=${0##*/}
while [ $# -gt 0 ]; do
    case "$name:$1" in
        taskset:-c | stdbuf:-[ioe] | ionice:-[cn] | chrt:-p) shift 2 ;;
        *:-*) shift ;;
        taskset:0x* | taskset:[0-9]* | chrt:[0-9]*) shift ;;
        *) break ;;
    esac
done
exec "$@"
