"""Admin pages for providers, versions and packages; those for keys are in `signing`. Importing registers them."""

from apps.providers.admin import packages, providers, versions

__all__ = ["packages", "providers", "versions"]
