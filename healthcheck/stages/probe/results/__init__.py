"""The results of a recorded run: figures, verdict, comparison with another run, and the files of the client."""
