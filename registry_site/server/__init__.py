"""Serving HTTP: bodies, connections, compression, health, static files."""
