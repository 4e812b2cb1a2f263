"""The search page over everything, and the command palette."""
