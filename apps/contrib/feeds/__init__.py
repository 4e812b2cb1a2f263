"""Atom feeds of what was published, and badges for READMEs."""
