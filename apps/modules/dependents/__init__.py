"""Modules of this registry that call each other."""
