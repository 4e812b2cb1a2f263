"""Cache, broker and database settings that one machine needs."""
