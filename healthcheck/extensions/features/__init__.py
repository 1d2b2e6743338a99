"""The extension of `npu-adapter features`: what a server offers beside streamed chat, and whether it holds."""
