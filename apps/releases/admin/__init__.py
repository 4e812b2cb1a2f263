"""Operators' pages of releases, their download counts and what searches know of them. Importing registers them."""

from apps.releases.admin import downloads, releases, search

__all__ = ["downloads", "releases", "search"]
