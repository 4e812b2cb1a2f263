"""The catalogue: lists, search, details, dependents, downloads."""
