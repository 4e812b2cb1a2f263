"""Authorisation: the gate, permissions of staff, and the end of access."""
