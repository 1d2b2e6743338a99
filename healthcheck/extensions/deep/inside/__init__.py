"""Programs for the Python of another environment, and stubs for torch_npu in it.

The kit never imports them. Each takes the path of a file for its answer in JSON, so that the output of libraries
cannot be mistaken for the answer.
"""
