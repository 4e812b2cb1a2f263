"""The rooms that can be left out (`LARDER_WITHOUT`). Nothing else outside of them names them."""

from collections.abc import Collection
from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

INSTALLED_ROOMS = {
    "mirror": "apps.contrib.mirror.room.Mirror",
    "git": "apps.contrib.git.room.Git",
    "assistants": "apps.contrib.assistants.room.Assistants",
}


def installed() -> list[str]:
    """Return their applications; a copy of the tree may lack some."""
    return [path for path in INSTALLED_ROOMS.values() if find_spec(_package_of(path))]


def left_out(names: Collection[str]) -> frozenset[str]:
    if unknown := sorted({*names} - INSTALLED_ROOMS.keys()):
        raise ImproperlyConfigured(f"LARDER_WITHOUT={unknown[0]!r}: expected some of {', '.join(INSTALLED_ROOMS)}")
    return frozenset(_package_of(INSTALLED_ROOMS[name]) for name in names)


def _package_of(application: str) -> str:
    return application.rsplit(".", 2)[0]
