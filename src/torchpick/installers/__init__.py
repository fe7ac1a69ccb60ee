"""How do pip and uv install it? A pick and a request → an exact command with its files."""
