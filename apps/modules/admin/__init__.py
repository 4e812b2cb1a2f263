"""Operators' pages of modules, their versions and what searches know of them. Importing registers them."""

from apps.modules.admin import modules, search, versions

__all__ = ["modules", "search", "versions"]
