"""What a person reads in each recorded output of `npu-smi info`: written by hand, from the files.

A chip is (npu, chip, physical, name, health, power, temperature, used, total); a process is
(npu, chip, pid, name, MB, pid in the container).
"""

OK, WARNING, ALARM, CRITICAL = "OK", "Warning", "Alarm", "Critical"


def _a1(npu, power, temperature, used, total, health=OK, name="910A"):
    return (npu, 0, None, name, health, power, temperature, used, total)


TABLES = {
    "info_310B4_23.0.0_Alarm.txt": {
        "versions": ("23.0.0", "23.0.0"),
        "chips": [(0, 0, 0, "310B4", ALARM, 0.0, 65, 3628, 15609)],
        "holders": None,
    },
    "info_310B_25.2.0_doc_no-busid.txt": {
        "versions": ("25.2.0", "25.2.0"),
        "chips": [(0, 0, 0, "xxx", OK, 10.4, 66, 957, 10810)],
        "holders": None,
    },
    "info_310P3_25.2.3_1x_npu224_OK.txt": {
        "versions": ("25.2.3", "25.2.3"),
        "chips": [(224, 0, 0, "310P3", OK, None, 71, 1263, 44280)],
        "holders": None,
    },
    "info_310P3_25.3.rc1_duo-4card-8chip_container_hot_procs-noname.txt": {
        "versions": ("25.3.rc1", "25.3.rc1"),
        "chips": [
            (0, 0, 0, "310P3", OK, None, 86, 35552, 44278),
            (0, 1, 1, "310P3", OK, None, 84, 35270, 43693),
            (96, 0, 2, "310P3", OK, None, 84, 1705, 44278),
            (96, 1, 3, "310P3", OK, None, 84, 1242, 43693),
            (32768, 0, 4, "310P3", OK, None, 79, 1696, 44278),
            (32768, 1, 5, "310P3", OK, None, 78, 1246, 43693),
            (32896, 0, 6, "310P3", OK, None, 82, 1658, 44278),
            (32896, 1, 7, "310P3", OK, None, 81, 1265, 43693),
        ],
        "holders": [
            (0, 0, 326429, "", 33842, None),
            (0, 0, 326430, "", 108, None),
            (0, 1, 326430, "", 34086, None),
        ],
    },
    "info_310_20.2.0_4chip_OK.txt": {
        "versions": ("20.2.0", "20.2.0"),
        "chips": [
            (215, 0, 0, "310", OK, 12.8, 56, 2703, 8192),
            (215, 1, 1, "310", OK, 12.8, 57, 2703, 8192),
            (215, 2, 2, "310", OK, 12.8, 57, 2703, 8192),
            (215, 3, 3, "310", OK, 12.8, 55, 2703, 8192),
        ],
        "holders": None,
    },
    "info_310_21_hugepages_4chip_OK.txt": {
        "versions": ("21.0.4", "21.0.4.B030"),
        "chips": [
            (6, 0, 3, "310", OK, 12.8, 73, 2703, 8192),
            (6, 1, 4, "310", OK, 12.8, 74, 2867, 8192),
            (6, 2, 5, "310", OK, 12.8, 70, 2867, 8192),
            (6, 3, 6, "310", OK, 12.8, 65, 2867, 8192),
        ],
        "holders": None,
    },
    "info_910A_22.0.3.1_8x_OK_noproctable.txt": {
        "versions": ("22.0.3.1", "22.0.3.1"),
        "chips": [
            _a1(0, 67.2, 43, 0, 32768),
            _a1(1, 63.3, 38, 0, 32768),
            _a1(2, 64.8, 34, 0, 32768),
            _a1(3, 191.7, 42, 0, 32768),
            _a1(4, 66.4, 44, 0, 32768),
            _a1(5, 62.7, 33, 0, 32768),
            _a1(6, 64.5, 35, 0, 32768),
            _a1(7, 191.4, 40, 0, 32768),
        ],
        "holders": None,
    },
    "info_910A_24.1.RC2_8x_Warning_procs.txt": {
        "versions": ("24.1.RC2", "24.1.RC2"),
        "chips": [
            _a1(0, 70.5, 42, 0, 32768, OK, "xxx"),
            _a1(1, 71.2, 36, 0, 32768, OK, "xxx"),
            _a1(2, 69.0, 35, 0, 32768, OK, "xxx"),
            _a1(3, 206.9, 39, 0, 32768, WARNING, "xxx"),
            _a1(4, 70.2, 39, 0, 32768, OK, "xxx"),
            _a1(5, 64.9, 37, 0, 32768, OK, "xxx"),
            _a1(6, 69.4, 40, 0, 32768, OK, "xxx"),
            _a1(7, 203.2, 42, 0, 32768, WARNING, "xxx"),
        ],
        "holders": [
            (npu, 0, pid, "hlt_host_devmm_", 686, None)
            for npu, pids in enumerate(
                [
                    (37656, 37664, 37640, 37648),
                    (37665, 37641, 37649, 37657),
                    (37658, 37650, 37666, 37642),
                    (37643, 37651, 37659, 37667),
                    (37668, 37644, 37652, 37660),
                    (37653, 37661, 37669, 37645),
                    (37646, 37654, 37662, 37670),
                    (37671, 37647, 37655, 37663),
                ]
            )
            for pid in pids
        ],
    },
    "info_910B1_23.0.rc3.3_2of8_OK_full-memory.txt": {
        "versions": ("23.0.rc3.3", "23.0.rc3.3"),
        "chips": [
            (0, 0, None, "910B1", OK, 271.1, 41, 65099, 65536),
            (1, 0, None, "910B1", OK, 275.0, 42, 65098, 65536),
        ],
        "holders": None,
    },
    "info_910B1_25.5.1_2of8_OK_truncated.txt": {
        "versions": ("25.5.1", "25.5.1"),
        "chips": [
            (0, 0, None, "910B1", OK, 97.4, 50, 3425, 65536),
            (1, 0, None, "910B1", OK, 100.5, 51, 3416, 65536),
        ],
        "holders": None,
    },
    "info_910B2C_23.0.2.1_2x_OK_procs.txt": {
        "versions": ("23.0.2.1", "23.0.2.1"),
        "chips": [
            (0, 0, None, "910B2C", OK, 88.6, 51, 20701, 65536),
            (1, 0, None, "910B2C", OK, 99.6, 50, 20687, 65536),
        ],
        "holders": [(0, 0, 124528, "python3.8", 17400, None)],
    },
    "info_910B2_24.1.rc2.1_1of8_OK_full-memory.txt": {
        "versions": ("24.1.rc2.1", "24.1.rc2.1"),
        "chips": [(3, 0, None, "910B2", OK, 119.9, 45, 61125, 65536)],
        "holders": None,
    },
    "info_910B3_26.x_8x_OK_container-pid-column.txt": {
        "versions": ("", ""),
        "chips": [
            (0, 0, None, "910B3", OK, 100.0, 50, 8676, 65536),
            (1, 0, None, "910B3", OK, 94.8, 48, 3403, 65536),
            (2, 0, None, "910B3", OK, 90.0, 49, 3403, 65536),
            (3, 0, None, "910B3", OK, 96.5, 48, 3407, 65536),
            (4, 0, None, "910B3", OK, 96.5, 52, 3403, 65536),
            (5, 0, None, "910B3", OK, 97.4, 49, 3402, 65536),
            (6, 0, None, "910B3", OK, 97.8, 49, 3402, 65536),
            (7, 0, None, "910B3", OK, 93.3, 51, 3403, 65536),
        ],
        "holders": [(0, 0, 485946, "pytest", 5175, None)],
    },
    "info_910B4-1_25.2.0_8x_OK_mixed-procs.txt": {
        "versions": ("25.2.0", "25.2.0"),
        "chips": [
            (0, 0, None, "910B4-1", OK, 92.3, 31, 12566, 65536),
            (1, 0, None, "910B4-1", OK, 86.7, 30, 59719, 65536),
            (2, 0, None, "910B4-1", OK, 87.5, 29, 3448, 65536),
            (3, 0, None, "910B4-1", OK, 90.2, 32, 3447, 65536),
            (4, 0, None, "910B4-1", OK, 92.4, 39, 3444, 65536),
            (5, 0, None, "910B4-1", OK, 92.3, 40, 3445, 65536),
            (6, 0, None, "910B4-1", OK, 97.0, 37, 7952, 65536),
            (7, 0, None, "910B4-1", OK, 87.3, 40, 17937, 65536),
        ],
        "holders": [
            (0, 0, 2340, "llama-box-rpc-s", 111, None),
            (1, 0, 2357, "llama-box-rpc-s", 111, None),
            (1, 0, 2394858, "VLLMEngineCor", 56313, None),
            (2, 0, 2339, "llama-box-rpc-s", 111, None),
            (3, 0, 2337, "llama-box-rpc-s", 111, None),
            (4, 0, 2362, "llama-box-rpc-s", 111, None),
            (5, 0, 2367, "llama-box-rpc-s", 112, None),
            (6, 0, 2343, "llama-box-rpc-s", 111, None),
            (7, 0, 5284, "llama-box-rpc-s", 111, None),
            (7, 0, 2395206, "python", 13162, None),
            (7, 0, 2395167, "python", 1429, None),
        ],
    },
    "info_910B4-1_25.2.0_Alarm-row.txt": {
        "versions": ("25.2.0", "25.2.0"),
        "chips": [
            (0, 0, None, "910B4-1", OK, 91.8, 36, 3451, 65536),
            (1, 0, None, "910B4-1", OK, 89.4, 37, 3436, 65536),
            (7, 0, None, "910B4-1", ALARM, 310.5, 88, 65000, 65536),
        ],
        "holders": [],
    },
    "info_910B4_25.5.2_container-single-npu-id5_OK_idle.txt": {
        "versions": ("25.5.2", "25.5.2"),
        "chips": [(5, 0, None, "910B4", OK, 89.9, 39, 2922, 32768)],
        "holders": [],
    },
    "info_910B4_26.0.rc1_1x_OK_idle_wide.txt": {
        "versions": ("26.0.rc1", "26.0.rc1"),
        "chips": [(0, 0, None, "910B4", OK, 82.6, 32, 2871, 32768)],
        "holders": [],
    },
    "info_910ProB_24.1.0_4of8_OK_truncated.txt": {
        "versions": ("24.1.0", "24.1.0"),
        "chips": [
            (0, 0, None, "910ProB", OK, 78.0, 38, 18, 32768),
            (1, 0, None, "910ProB", OK, 75.8, 38, 8, 32768),
            (2, 0, None, "910ProB", OK, 78.2, 39, 5, 32768),
        ],
        "holders": None,
    },
    "info_950DT_25.6.rc1.b169_OK_procs.txt": {
        "versions": ("25.6.rc1.b169", "25.6.rc1.b169"),
        "chips": [
            (0, 0, None, "Ascend950DT", OK, 380.7, 44, 6632, 86016),
            (1, 0, None, "Ascend950DT", OK, 380.3, 51, 6711, 86016),
            (6, 0, None, "Ascend950DT", OK, 381.1, 50, 66466, 86016),
            (7, 0, None, "Ascend950DT", OK, 379.5, 46, 66461, 86016),
        ],
        "holders": [
            (6, 0, 3621066, "/home/lp/sglang/worker.py", 40000, None),
            (6, 0, 3624823, "/home/rjw/sglang-k3/worker.py", 61140, None),
            (6, 0, 3624824, "/home/rjw/sglang-k3/helper.py", 20000, None),
        ],
    },
    "info_950DT_25.6.rc1.b218_Warning-row.txt": {
        "versions": ("25.6.rc1.b218", "25.6.rc1.b218"),
        "chips": [
            (0, 0, None, "Ascend950DT", OK, 398.6, 46, 4765, 98304),
            (1, 0, None, "Ascend950DT", OK, 401.0, 51, 4764, 98304),
            (7, 0, None, "Ascend950DT", WARNING, 397.5, 61, 91000, 98304),
        ],
        "holders": None,
    },
    "info_A3-910_93_24.1.rc3.7_excerpt_OK.txt": {
        "versions": ("24.1.rc3.7", "24.1.rc3.7"),
        "chips": [
            (0, 0, 0, "Ascend910", OK, 178.8, 36, 3397, 65536),
            (0, 1, 1, "Ascend910", OK, None, 36, 3186, 65536),
        ],
        "holders": None,
    },
    "info_A3-910_93_25.2.0_2x2_OK_mixed-procs.txt": {
        "versions": ("25.2.0", "25.2.0"),
        "chips": [
            (0, 0, 0, "Ascend910", OK, 162.8, 37, 3133, 65536),
            (0, 1, 1, "Ascend910", OK, None, 37, 2876, 65536),
            (1, 0, 2, "Ascend910", OK, 167.1, 38, 3116, 65536),
            (1, 1, 3, "Ascend910", OK, None, 38, 10568, 65536),
        ],
        "holders": [(1, 1, 990711, "python", 7746, None)],
    },
    "info_A3-910_93_26.0.rc1_dual-chip_procs.txt": {
        "versions": ("26.0.rc1", "26.0.rc1"),
        "chips": [
            (0, 0, 0, "Ascend910", OK, 204.0, 43, 59807, 65536),
            (0, 1, 1, "Ascend910", OK, None, 40, 59536, 65536),
            (5, 0, 10, "Ascend910", OK, 159.6, 39, 3140, 65536),
            (5, 1, 11, "Ascend910", OK, None, 40, 2882, 65536),
        ],
        "holders": [
            (0, 0, 1774110, "VLLMWorker_PP", 56684, None),
            (0, 1, 1777209, "VLLMWorker_PP", 56684, None),
        ],
    },
    "info_A3-910_93_Warning-one-die_edited.txt": {
        "versions": ("", ""),
        "chips": [
            (0, 0, 0, "Ascend910", OK, 161.9, 32, 3101, 65536),
            (0, 1, 1, "Ascend910", WARNING, None, 32, 2887, 65536),
            (1, 0, 2, "Ascend910", OK, 164.2, 32, 3101, 65536),
            (1, 1, 3, "Ascend910", OK, None, 32, 2887, 65536),
        ],
        "holders": None,
    },
}
ERRORS = {
    "error_container_-8005_occupied-or-no-privilege.txt": (-8005,),
    "error_container_-8020_-9005_torch_npu-count0.txt": (-8020, -9005),
    "error_container_-8020_device-used.txt": (-8020,),
    "error_container_-9005_but-torch_npu-works.txt": (-9005,),
    "error_host_-8005_non-root-user.txt": (-8005,),
}
MAPPINGS = {  # (npu, chip, logic, physical, name)
    "info-m_310P_duo_4card.txt": [
        (1, 0, 0, None, "Ascend xxx"), (1, 1, 1, None, "Ascend xxx"),
        (2, 0, 2, None, "Ascend xxx"), (2, 1, 3, None, "Ascend xxx"),
        (4, 0, 4, None, "Ascend xxx"), (4, 1, 5, None, "Ascend xxx"),
        (5, 0, 6, None, "Ascend xxx"), (5, 1, 7, None, "Ascend xxx"),
    ],
    "info-m_310_minid.txt": [
        (6, 0, 0, None, "MiniD"), (6, 1, 1, None, "MiniD"), (6, 2, 2, None, "MiniD"), (6, 3, 3, None, "MiniD"),
    ],
    "info-m_910A_24.1.RC2.txt": [(n, 0, n, None, "Ascend 910A") for n in range(8)],
    "info-m_910B3_1x_mcu.txt": [(0, 0, 0, None, "Ascend 910B3")],
    "info-m_910B_8x_mcu.txt": [(n, 0, n, None, "Ascend xxx") for n in range(8)],
    "info-m_950DT_slotid_no-logic-id.txt": [
        (0, 0, None, 0, "Ascend950DT"), (1, 0, None, 1, "Ascend950DT"), (2, 0, None, 2, "Ascend950DT"),
    ],
    "info-m_A3_phyid.txt": [(0, 0, 0, 0, "Ascend"), (0, 1, 1, 1, "Ascend")],
}  # fmt: skip
FIELDS = {  # what is said of the card, and of each chip; some of the lines of each
    "hccn_tool-link-g_DOWN.txt": ({"link status": "DOWN"}, {}),
    "info-t-board-c_310P.txt": (
        {},
        {0: {"Chip Name": "xxx", "PCIe Bus Info": "0000:81:00.0", "Firmware Version": "7.1.0.4", "Board ID": "0x64"}},
    ),
    "info-t-board-c_910B.txt": ({}, {0: {"Firmware Version": "7.1.0.4.218", "Chip Position ID": "1", "PCB ID": "NA"}}),
    "info-t-board_910B_25.5.1.txt": (
        {"Software Version": "25.5.1", "Firmware Version": "7.8.0.6.201", "Compatibility": "OK",
         "Product Name": "IT21HMDC_Bin5", "PCI Device ID": "0xD802", "Chip Count": "1"},
        {},
    ),
    "info-t-common_310P.txt": (
        {"NPU ID": "1", "Chip Count": "2"},
        {
            0: {"Memory Usage Rate(%)": "3", "Aicore Freq(MHZ)": "1080", "Temperature(C)": "60"},
            1: {"Memory Usage Rate(%)": "3", "Aicore curFreq(MHZ)": "960", "Temperature(C)": "59"},
        },
    ),
    "info-t-common_910B.txt": (
        {"NPU ID": "0", "Chip Count": "1"},
        {0: {"HBM Usage Rate(%)": "0", "Aicore Count": "32", "Temperature(C)": "46", "NPU Real-time Power(W)": "69.0"}},
    ),
    "info-t-ecc-c_310B_doc.txt": ({"Single-bit Error Count": "0", "Double-bit Error Count": "0"}, {}),
    "info-t-health_OK_mcu_doc.txt": ({"NPU ID": "0", "Chip Count": "1"}, {0: {"Health": "OK"}}),
    "info-t-memory-c_910B3_64G.txt": ({"HBM Capacity(MB)": "65536", "HBM Temperature(C)": "52", "DDR Capacity(MB)": "0"}, {}),
    "info-t-memory_310B_doc.txt": ({}, {0: {"Total Capacity(MB)": "12288", "Capacity(MB)": "10810"}}),
    "info-t-power_910B.txt": ({"NPU ID": "0"}, {0: {"NPU Real-time Power(W)": "103.5"}}),
    "info-t-temp_910B.txt": ({"NPU ID": "0"}, {0: {"NPU Temperature (C)": "39"}}),
    "info-t-usages_310P.txt": (
        {"NPU ID": "1", "Chip Count": "2"},
        {
            0: {"DDR Capacity(MB)": "44280", "DDR Usage Rate(%)": "3", "Ctrlcpu Usage Rate(%)": "2"},
            1: {"DDR Capacity(MB)": "43693", "DDR Usage Rate(%)": "3", "Ctrlcpu Usage Rate(%)": "3"},
        },
    ),
    "info-t-usages_910B_32G.txt": (
        {"NPU ID": "0"},
        {0: {"DDR Capacity(MB)": "15171", "HBM Capacity(MB)": "32768", "HBM Usage Rate(%)": "0", "Ctrlcpu Usage Rate(%)": "9"}},
    ),
    "info-t-usages_910B_64G_25.5.1.txt": (
        {"NPU ID": "0"},
        {0: {"HBM Capacity(MB)": "65536", "HBM Usage Rate(%)": "5", "Ctrlcpu Usage Rate(%)": "6", "NPU Utilization(%)": "0"}},
    ),
    "version_npu-smi-v.txt": ({"npu-smi version": "25.2.0"}, {}),
}  # fmt: skip
REFUSED = ("error_unsupported-subqueries.txt", "summary_950DT_25.6.1.b007_Warning-Critical.md.txt")
"""The second is a table that somebody typed; no npu-smi prints it."""
PROCESS_MEMORY = {"info-t-proc-mem_910B3.txt": [(0, 0, 207795, "VLLMEngineCor", 55436, None)]}
