"""Programs that run in the Python of an environment with torch and transformers."""
