"""Pages of providers and their versions."""
