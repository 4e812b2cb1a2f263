"""Hostile packages of providers: one program in a zip."""
