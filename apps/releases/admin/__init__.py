"""Operators' pages of releases and their download counts. Importing registers them."""

from apps.releases.admin import downloads, releases

__all__ = ["downloads", "releases"]
