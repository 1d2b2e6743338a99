"""Problems from files of the user."""
