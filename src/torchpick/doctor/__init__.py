"""An environment → findings: what is wrong, and the command that mends it."""
