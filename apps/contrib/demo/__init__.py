"""A public demonstration: a registry with real-looking releases that nobody can change."""
