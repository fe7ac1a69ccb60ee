"""What is installed and configured here? A Python, its distributions, its pip and uv settings, project files."""
