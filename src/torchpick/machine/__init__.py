"""What is this computer? Thin probes and pure parsers, one source a module → Machine."""
