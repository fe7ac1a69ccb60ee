"""What do we know? The compat files, the refreshed cache, GPU names, drivers, companions."""
