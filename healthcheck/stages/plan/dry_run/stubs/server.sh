#!/bin/sh
#:common
case "$name:${1:-}" in
    *:--version | *:-v | *:-V | *:version)
        record exec "$@"
        if [ "$name" = vllm ]; then echo @VLLM@; else echo 1.0.0; fi
        exit 0 ;;
    vllm:serve | vllm:bench | vllm:run-batch) ;;
    vllm:*)
        record exec "$@"
        for word; do
            case "$word: $* " in
                -* | *" --omni "*) ;;
                chat:* | complete:* | serve:* | launch:* | bench:* | collect-env:* | run-batch:*) exit 0 ;;
                download-kernels:* | preload:* | snapshot:*) exit 0 ;;
                *)
                    echo "usage: vllm [-h] [-v] {chat,complete,serve,launch,bench,collect-env,run-batch} ..." >&2
                    echo "vllm: error: argument subparser: invalid choice: '$word' (choose from 'chat', 'complete'," \
                        "'serve', 'launch', 'bench', 'collect-env', 'run-batch')" >&2
                    exit 2 ;;
            esac
        done
        exit 0 ;;
    nginx:-t | nginx:-s)
        record exec "$@"
        exit 0 ;;
esac
for argument; do
    case $argument in
        -h | --help | --help=*)
            record exec "$@"
            echo "usage: $name"
            exit 0 ;;
    esac
done
case "$name:${1:-}" in
    vllm:bench | vllm:run-batch)
        record exec "$@"
        exit 0 ;;
esac
exec @KIT@/py/bin/python3 -I -S -B -X utf8 @KIT@/lib/healthcheck/stages/plan/dry_run/stubs/server.py @KIT@ "$name" "$@"
