"""Admin pages of mirrored registries; actions call the verbs of this room. Importing registers them."""

from apps.contrib.mirror.admin import decisions, registries

__all__ = ["decisions", "registries"]
