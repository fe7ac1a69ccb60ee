"""A pick → what a person or a program reads."""
