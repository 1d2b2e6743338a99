#!/bin/sh
#:common
case "$name:${1:-}" in
    ray:start)
        record exec "$@"
        for argument; do
            if [ "$argument" = --block ]; then read -r forever <@KIT@/forever; fi
        done
        exit 0 ;;
    uv:run | poetry:run | pipenv:run | uvx:*)
        record exec "$@"
        if [ "$name" != uvx ]; then shift; fi
        while [ $# -gt 0 ]; do
            case $1 in
                --) shift; break ;;
                --from | --with | --python | -p | --extra | --group | --project | --directory | --env-file) shift 2 ;;
                -*) shift ;;
                *) break ;;
            esac
        done
        exec "$@" ;;
    uv:pip)
        record exec "$@"
        shift
        exec pip "$@" ;;
    uv:venv)
        record exec "$@"
        shift
        folder=.venv
        for argument; do
            case $argument in -*) ;; *) folder=$argument ;; esac
        done
        exec python3 -m venv "$folder" ;;
    virtualenv:*)
        for argument; do folder=$argument; done
        exec python3 -m venv "$folder" ;;
esac
record exec "$@"
# The package nginx brings its folders and a configuration that includes theirs; only in a machine of its own.
case "$name: $* " in
    apt:*" install "*" nginx"* | apt-get:*" install "*" nginx"* | yum:*" install "*" nginx"* | dnf:*" install "*" nginx"*)
        if [ ! -e @KIT@/offline ] && mkdir -p /etc/nginx/conf.d /etc/nginx/sites-available /etc/nginx/sites-enabled \
            && [ ! -e /etc/nginx/nginx.conf ]; then
            echo "events { }
http { include /etc/nginx/conf.d/*.conf; include /etc/nginx/sites-enabled/*; }" >/etc/nginx/nginx.conf
        fi ;;
esac 2>/dev/null
case "$name: $* " in
    apt-get:*\ install\ * | apt:*\ install\ * | yum:*install\ * | dnf:*install\ * | apk:*\ add\ * | npm:*\ i* | pipx:*\ install\ * | uv:*\ install\ *)
        @KIT@/py/bin/python3 -I -S -B -X utf8 @KIT@/lib/healthcheck/stages/plan/dry_run/stubs/installed.py @KIT@ "$name" "$@" </dev/null ;;
esac
case "${1:-}" in
    --version | -V) echo "$name 24.0" ;;
    show)
        shift
        exec pip show "$@" ;;
esac
exit 0
