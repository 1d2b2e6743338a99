"""The options of a probe: declared in `record`, read from a TOML file and a command line by `reading`."""
