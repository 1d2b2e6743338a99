"""The service's image as the dry run shows it: its folders, and the programs and libraries that have a stub."""

from __future__ import annotations

from pathlib import Path

STUBS_FOLDER = Path(__file__).resolve().parent / "dry_run" / "stubs"
IMAGE_SOURCES = "/vllm-workspace/"
IMAGE_FOLDERS = (f"{IMAGE_SOURCES}vllm", f"{IMAGE_SOURCES}vllm-ascend", "/workspace")
"""Folders of the official vllm-ascend image, the last one empty; which image the service has is unknown.

Source: its Dockerfile.
"""
IMAGE_PACKAGES = "/usr/local/python3/lib/python3/site-packages/"
"""Where the stubs of libraries say that they are installed: the folders are there, and few of the files."""
STUBS = {
    "vllm.py": ("vllm",),
    "server.sh": (
        "sglang", "lmdeploy", "llama-server", "server", "mindieservice_daemon", "mindie_llm_server",
        "xinference", "xinference-local", "swift", "litellm", "llamafactory-cli", "openllm", "bentoml", "streamlit",
        "gradio", "vllm-omni", "nginx", "haproxy", "caddy", "transformers",
    ),
    "python.sh": (
        "python", "python3", "python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "torchrun",
        "accelerate", "deepspeed", "msrun", "uvicorn", "gunicorn", "hypercorn", "granian", "daphne",
        "waitress-serve", "fastapi", "flask",
    ),
    "client.sh": ("curl", "wget", "nc"),
    "pip.sh": ("pip", "pip3", "pip3.9", "pip3.10", "pip3.11", "pip3.12"),
    "quiet.sh": (
        "poetry", "pipx", "pipenv", "apt-get", "apt",
        "yum", "dnf", "apk", "dpkg", "rpm", "npm", "hccn_tool", "ray", "update-alternatives", "ldconfig",
        "modelscope", "huggingface-cli", "hf", "aria2c", "openmind-cli", "obsutil", "git-lfs", "add-apt-repository",
        "virtualenv", "uv", "uvx",
    ),
    "git.sh": ("git",),
    "npu-smi.sh": ("npu-smi",),
    "sleep.sh": ("sleep", "usleep"),
    "timeout.sh": ("timeout",),
    "address.sh": ("hostname", "ip", "ifconfig"),
    "nothing.sh": ("lsof", "fuser", "pkill", "killall", "pgrep", "ss", "netstat"),
    "find.sh": ("find",),
    "root_only.sh": (
        "useradd", "adduser", "userdel", "usermod", "groupadd", "addgroup", "groupdel", "groupmod", "chpasswd",
        "chown", "chgrp",
    ),
}  # fmt: skip
STUBBED = frozenset(name for names in STUBS.values() for name in names)
"""The programs that stubs replace wherever the search path is kept."""
