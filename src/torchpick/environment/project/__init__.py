"""A project file: what it says of torch, and settings written into it so that all else stays."""
