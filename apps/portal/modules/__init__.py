"""Pages of modules and their versions."""
