"""Programs that the Python of another environment runs, and the modules that stand in for torch_npu there.

Never imported by the kit. Each takes the path of a file that it writes its answer into, as JSON: what libraries
print on their own cannot be taken for it.
"""
