"""What code is in a binary? Wheels, libraries and fat binaries, read by ranges or in place."""
