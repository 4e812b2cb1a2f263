"""The way of one release from a reserved number to a published version, the same for every kind."""
