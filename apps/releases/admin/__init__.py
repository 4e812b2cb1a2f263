"""Admin pages of releases, download counts and search documents. Importing registers them."""

from apps.releases.admin import cleanup, downloads, releases, search

__all__ = ["cleanup", "downloads", "releases", "search"]
