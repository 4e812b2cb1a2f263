"""Providers of other registries: fetched on demand, verified, pinned, filtered by policy, and stored (D26)."""
