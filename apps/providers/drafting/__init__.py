"""A provider release while files are added, and how they become one version."""
