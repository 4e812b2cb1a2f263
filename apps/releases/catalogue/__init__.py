"""Reads over releases: search, download counts, the documents of a release."""
