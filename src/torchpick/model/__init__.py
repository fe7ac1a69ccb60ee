"""The nouns: what a machine, a build, a wish and a verdict are. Pure, immutable, cheap to import."""
