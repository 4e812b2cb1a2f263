"""A version from its upload to its removal."""
