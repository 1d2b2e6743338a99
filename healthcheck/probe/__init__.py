"""The accuracy probe: problems, sampling, grading, what a run says about the model behind a server."""
