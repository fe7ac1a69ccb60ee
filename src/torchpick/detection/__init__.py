"""This computer → Machine: thin probes, pure parsers, one source a module."""
