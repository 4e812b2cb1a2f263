"""Reports of other programs, read in a confined child process into one shape. Nothing in them is executed."""
