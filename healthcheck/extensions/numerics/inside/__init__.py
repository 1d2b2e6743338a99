"""Programs for the Python of an environment with torch and transformers."""
