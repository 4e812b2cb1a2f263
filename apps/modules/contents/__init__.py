"""Contents of a version for its pages, read from its archive: README, inspection, files."""
