"""A child process that can do nothing but read what it is given and answer."""
