#!/bin/sh
# The real find, for which a folder that only the root of this machine may read is one that is not there.
real=@HOST@/usr/bin/find
for place in /usr/bin/find /bin/find; do
    [ -x "$real" ] || real=$place
done
# Without namespaces MODEL_PATH is a link to the weights.
follow=
if [ -L "${MODEL_PATH:-}" ]; then follow=-H; fi
{ said=$("$real" $follow "$@" 2>&1 >&3 3>&-); status=$?; } 3>&1
if [ -n "$said" ]; then
    others=$(printf "%s\n" "$said" | grep -v "Permission denied" | sed "s,^@HOST@/usr/bin/find:,find:,")
    [ -n "$others" ] && printf '%s\n' "$others" >&2
    [ -z "$others" ] && [ $status -eq 1 ] && status=0
fi
exit $status
