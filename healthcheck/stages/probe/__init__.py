"""The accuracy probe: problems, sampling, grading, and the statistics of a run."""
