"""The differences between two versions of a module, and the users that they break."""
