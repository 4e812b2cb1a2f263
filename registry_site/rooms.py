"""The rooms that can be left out (`LARDER_WITHOUT`). Nothing else outside of them names them."""

from collections.abc import Iterable
from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

INSTALLED_ROOMS = {
    "mirror": "apps.upstream.room.Mirror",
    "git": "apps.sources.room.Git",
    "assistants": "apps.assistants.room.Assistants",
}


def without(left_out: Iterable[str]) -> list[str]:
    """Return the applications of the rooms that are here and not left out."""
    names = set(left_out)
    if unknown := names - INSTALLED_ROOMS.keys():
        raise ImproperlyConfigured(f"LARDER_WITHOUT={min(unknown)!r}: expected some of {', '.join(INSTALLED_ROOMS)}")
    return [path for name, path in INSTALLED_ROOMS.items() if name not in names and find_spec(path.rsplit(".", 2)[0])]
