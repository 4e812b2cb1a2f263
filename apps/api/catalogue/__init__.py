"""What is there to be found and used: lists, search, details, dependents, downloads."""
