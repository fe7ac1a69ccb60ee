"""A pick for people who do not have the machine: extras, project files, locks. Pure."""
