#!/bin/sh
case "${0##*/}:$*" in
    whoami:* | id:*-un* | id:*-gn*) echo root ;;
    id:*-u* | id:*-g*) echo 0 ;;
    *) echo "uid=0(root) gid=0(root) groups=0(root)" ;;
esac
