"""How do pip and uv want it? From a question to an exact command with its files, to settings, to a lock."""
