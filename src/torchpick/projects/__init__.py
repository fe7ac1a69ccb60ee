"""What should a project declare? Extras, groups and index settings for people without the machine."""
