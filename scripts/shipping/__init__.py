"""How torchpick is built, checked and released; not part of the distribution."""
