"""A pick and all it needs, each file with its URL and hash: pylock.toml for pip and uv."""
