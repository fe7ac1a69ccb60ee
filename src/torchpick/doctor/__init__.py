"""What is wrong in an environment? Facts → findings, and the command that fixes them."""
