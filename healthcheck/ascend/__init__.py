"""What is known of Ascend: the version matrix, quantization schemes, kinds of NPU."""
