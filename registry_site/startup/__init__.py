"""From the command line to ready: bootstrap, checks, supervisor, startup message."""
