"""From the command line to ready: bootstrap, checks, supervisor, the message on the screen."""
