"""Problems from the user's files."""
