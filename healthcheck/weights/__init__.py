"""The weights: what the folder at MODEL_PATH holds, judged without loading it."""
