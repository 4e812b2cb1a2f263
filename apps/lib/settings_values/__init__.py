"""Settings with a grammar of their own, and what is wrong with them."""
