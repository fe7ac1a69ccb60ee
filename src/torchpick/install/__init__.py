"""A pick → an installer at work."""
