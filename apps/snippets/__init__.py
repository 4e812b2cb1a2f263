"""Text to copy: configuration of clients, calls of modules, provider requirements."""
