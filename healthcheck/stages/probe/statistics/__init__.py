"""What a run's samples say, as pure functions: metrics, intervals, the gate, two runs.

A run is an N × n matrix of correctness, problem-major (`matrix[i][j]`: sample j of problem i). Nothing here reads,
writes or draws an unseeded number, and no number leaves without its interval (`estimates.Estimate`).
"""
