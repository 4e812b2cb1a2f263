"""Hostile archives of modules, read and written in a sandboxed child."""
