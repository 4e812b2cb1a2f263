"""Matters that need attention: who can act on each, who is only told, and what home shows of it."""
