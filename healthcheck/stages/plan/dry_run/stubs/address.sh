#!/bin/sh
name=${0##*/}
address=@ADDRESS@
network=${address%.*.*}
blocks() {
    printf '%s\n' \
        '1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000' \
        '    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00' '    inet 127.0.0.1/8 scope host lo' \
        '2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default' \
        '    link/ether 02:42:c6:12:25:02 brd ff:ff:ff:ff:ff:ff' \
        "    inet $address/16 brd $network.255.255 scope global eth0"
}
one_line=
brief=
object=
device=
for argument; do
    case $argument in
        -o | -oneline) one_line=yes ;;
        -br | -brief) brief=yes ;;
        -*) ;;
        a | addr | address | l | link | r | ro | route) object=${object:-$argument} ;;
        eth* | en* | lo | bond* | ib* | hns* | wl*) device=$argument ;;
    esac
done
case $name:$device in
    hostname:*) ;;
    *: | *:eth0 | *:lo) ;;
    ip:*) echo "Device \"$device\" does not exist." >&2; exit 1 ;;
    *) echo "$device: error fetching interface information: Device not found" >&2; exit 1 ;;
esac
case $name:$object in
    hostname:*)
        case "${1:-}" in
            -I | --all-ip-addresses) echo "$address " ;;
            -i | --ip-address) echo "$address" ;;
            *) uname -n ;;
        esac ;;
    ip:r*)
        case " $* " in
            *" get "*) echo "8.8.8.8 via $network.0.1 dev eth0 src $address uid 0" ;;
            *)
                echo "default via $network.0.1 dev eth0"
                case " $* " in
                    *" default "*) ;;
                    *) echo "$network.0.0/16 dev eth0 proto kernel scope link src $address" ;;
                esac ;;
        esac ;;
    ip:*)
        if [ -n "$brief" ]; then
            printf '%s\n' 'lo               UNKNOWN        127.0.0.1/8' "eth0             UP             $address/16"
        elif [ -n "$one_line" ]; then
            printf '%s\n' '1: lo    inet 127.0.0.1/8 scope host lo\       valid_lft forever preferred_lft forever' \
                "2: eth0    inet $address/16 brd $network.255.255 scope global eth0\\       valid_lft forever"
        else
            blocks
        fi | case $device in '') cat ;; lo) grep -A 2 -w lo ;; *) grep -A 2 -w "eth0" ;; esac ;;
    *)
        printf '%s\n' 'eth0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 1500' \
            "        inet $address  netmask 255.255.0.0  broadcast $network.255.255" \
            '        ether 02:42:c6:12:25:02  txqueuelen 0  (Ethernet)' ''
        if [ "$device" != eth0 ]; then
            printf '%s\n' 'lo: flags=73<UP,LOOPBACK,RUNNING>  mtu 65536' \
                '        inet 127.0.0.1  netmask 255.0.0.0' ''
        fi ;;
esac
