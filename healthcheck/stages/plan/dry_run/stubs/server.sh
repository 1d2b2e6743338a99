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
    nginx:-t | nginx:-T | nginx:-s | haproxy:-c | caddy:validate | caddy:reload | caddy:stop)
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
# Fronts that go into the background by themselves: the script goes on when they serve.
daemonizes() {
    case "$name: $* " in
        nginx:*"daemon off"*) return 1 ;;
        nginx:*)
            config=/etc/nginx/nginx.conf
            previous=
            for argument; do
                if [ "$previous" = -c ]; then config=$argument; fi
                previous=$argument
            done
            ! grep -Eqs '^[^#]*daemon[[:space:]]+off' "$config" ;;
        haproxy:*" -D "* | haproxy:*" -W -D"* | caddy:" start "*) return 0 ;;
        *) return 1 ;;
    esac
}
if daemonizes "$@"; then
    @KIT@/py/bin/python3 -I -S -B -X utf8 @KIT@/lib/healthcheck/stages/plan/dry_run/stubs/server.py @KIT@ "$name" "$@" </dev/null &
    tries=0
    while [ $tries -lt 2000 ] && kill -0 $! && ! grep -aq "$!@BETWEEN@server@BETWEEN@" @KIT@/run/done; do
        tries=$((tries + 1))
    done 2>/dev/null
    exit 0
fi
exec @KIT@/py/bin/python3 -I -S -B -X utf8 @KIT@/lib/healthcheck/stages/plan/dry_run/stubs/server.py @KIT@ "$name" "$@"
