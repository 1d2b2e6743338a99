#!/bin/sh
#:common
record exec "$@"
case "$*" in
    "info -l"*)
        printf '        Total Count                    : 1\n\n        NPU ID                         : 0\n'
        printf '        Chip Count                     : 1\n' ;;
    "info -m"*)
        printf 'NPU ID                         Chip ID                        Chip Logic ID                  Chip Name\n'
        printf '0                              0                              0                              Ascend 910B3\n'
        printf '0                              1                              -                              Mcu\n' ;;
    "info -t board"*)
        printf '        NPU ID                         : 0\n        Software Version               : 25.5.1\n'
        printf '        Chip Type                      : Ascend\n        Chip Name                      : 910B3\n' ;;
    *health*)
        printf '        Health                         : OK\n' ;;
    *memory* | *usages*)
        printf '        HBM Capacity(MB)               : 65536\n        HBM Usage Rate(%%)              : 5\n' ;;
    -v | --version)
        echo "npu-smi version: 25.5.1" ;;
    *)
        cat <<'TABLE'
+------------------------------------------------------------------------------------------------+
| npu-smi 25.5.1                   Version: 25.5.1                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 92.4        38                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3426 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| No running processes found in NPU 0                                                            |
+===========================+===============+====================================================+
TABLE
        ;;
esac
