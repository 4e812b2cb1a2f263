"""Shared by all endpoints: the base view, bodies, pages of lists, and what describes them."""
