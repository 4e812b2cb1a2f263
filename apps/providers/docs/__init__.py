"""A provider's docs: Markdown from `docs/` of its packages, or from a separate archive.

Clients do not verify them, so publishers may replace them after publication.
"""
