"""Operators' pages of modules and their versions. Importing registers them."""

from apps.modules.admin import modules, versions

__all__ = ["modules", "versions"]
