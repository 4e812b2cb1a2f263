"""Admin pages of releases, download counts and search documents. Importing registers them."""

from apps.releases.admin import downloads, releases, search

__all__ = ["downloads", "releases", "search"]
