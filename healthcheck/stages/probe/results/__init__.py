"""What a recorded run says: figures, verdict, a comparison with another run, and the files of the client."""
