"""Facts about Ascend: the version matrix, quantization schemes, kinds of NPU."""
