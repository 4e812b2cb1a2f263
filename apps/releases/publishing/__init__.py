"""From a reserved number to a published version, the same for every kind."""
