#!/bin/sh
name=${0##*/}
while [ $# -gt 0 ]; do
    case "$name:$1" in
        *:--) shift; break ;;
        taskset:-p* | taskset:-*p | taskset:--pid | ionice:-p | ionice:--pid | chrt:-p | chrt:--pid) exit 0 ;;
        *:--*=*) shift ;;
        numactl:-[NCmipPcwM] | numactl:--cpunodebind | numactl:--membind | numactl:--physcpubind) shift 2 ;;
        numactl:--interleave | numactl:--preferred | numactl:--cpubind | numactl:--preferred-many) shift 2 ;;
        taskset:-c | taskset:-ac | taskset:--cpu-list) shift; [ $# -eq 0 ] || shift ;;
        stdbuf:-[ioe] | stdbuf:--input | stdbuf:--output | stdbuf:--error) shift 2 ;;
        ionice:-[cn] | ionice:--class | ionice:--classdata) shift 2 ;;
        *:-*) shift ;;
        taskset:[0-9a-fA-F]* | chrt:[0-9]*) shift; break ;;
        *) break ;;
    esac
done
exec "$@"
