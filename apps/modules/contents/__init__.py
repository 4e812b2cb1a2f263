"""What pages know of a version, read from its archive: README, inspection, files."""
