"""Admin pages for modules and their versions. Importing this package registers them."""

from apps.modules.admin import modules, versions

__all__ = ["modules", "versions"]
