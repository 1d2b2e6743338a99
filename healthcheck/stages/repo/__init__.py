"""The repo stage: the files of a submission, as a fresh clone of its commit has them."""
