"""The machine that the kit runs on: files, programs, processes, and readers of JSON, TOML and YAML."""
