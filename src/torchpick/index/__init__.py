"""What is on a server? The HTTP client, index pages, and files read by ranges."""
