"""How the files of compat/ are made, read and checked; not part of the distribution."""
