"""Operators' pages of providers, their versions and packages. Importing registers them; `signing` has the keys'."""

from apps.providers.admin import packages, providers, versions

__all__ = ["packages", "providers", "versions"]
