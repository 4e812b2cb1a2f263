"""Rules for the contents of archives, the same for every format."""
