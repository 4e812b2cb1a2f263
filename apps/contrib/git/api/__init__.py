"""/api/v1/namespaces/<ns>/repositories: the Git repositories that a namespace publishes from."""
