"""A provider's documentation: Markdown from `docs/` of its packages, or from an archive that is sent for itself.

It is prose and no part of what clients verify, so its publishers may replace it after the version is published.
"""
