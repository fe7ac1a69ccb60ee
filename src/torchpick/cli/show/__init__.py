"""What does a person read? Text, tables and pages."""
