"""What does a person read? Text, tables, pages and completion scripts."""
