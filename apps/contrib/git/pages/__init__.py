"""Pages about the Git repositories that a namespace publishes from."""
