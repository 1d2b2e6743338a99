"""What deploy.sh says: its text, its trace, its error output."""
