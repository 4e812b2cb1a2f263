"""Pages of a namespace: its members, settings and signing keys."""
