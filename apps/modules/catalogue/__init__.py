"""Reads of modules through the gate, and the documents made of them."""
