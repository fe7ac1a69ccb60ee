"""What are we talking about? The nouns: GPUs, drivers, machines, builds, wishes, verdicts, picks. Pure."""
