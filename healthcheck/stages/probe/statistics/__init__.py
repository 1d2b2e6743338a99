"""Statistics of a run's samples as pure functions: metrics, intervals, the gate, comparison of two runs.

A run is an N × n matrix of correctness, problem-major (`matrix[i][j]`: sample j of problem i). No function here
reads, writes or draws an unseeded random number, and every figure has its interval (`estimates.Estimate`).
"""
