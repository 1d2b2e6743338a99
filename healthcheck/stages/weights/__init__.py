"""The weights stage: judges the folder at MODEL_PATH without loading it."""
