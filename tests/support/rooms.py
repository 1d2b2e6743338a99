"""A profile of another service."""

from __future__ import annotations

ROOM = """
name = "Machine room 3"
source = "handbook"
read-on = "2026-11-20"
port = 9000
chat-path = "/v1/talk"
weight-limit-gb = 120
samples = 7

[known]
release = "0.26.0rc1"
npu = "910B4"
npus = 2

[sentences]
npus = "Each job gets two NPUs."
"""
