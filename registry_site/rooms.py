"""The rooms that can be left out (`LARDER_WITHOUT`). Nothing else outside of them names them."""

from collections.abc import Collection
from importlib.util import find_spec
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from apps.lib.settings_values.identity_providers import IdentityProvider
from apps.lib.settings_values.kek_urls import KeyAddress

Kinds = tuple[type[IdentityProvider], ...]

INSTALLED_ROOMS = {
    "mirror": "apps.contrib.mirror.room.Mirror",
    "git": "apps.contrib.git.room.Git",
    "assistants": "apps.contrib.assistants.room.Assistants",
    "openid": "apps.contrib.openid.room.OpenIdConnect",
    "saml": "apps.contrib.saml.room.Saml",
    "demo": "apps.contrib.demo.room.Demo",
    "checks": "apps.contrib.checks.room.Checks",
    "reporting": "apps.contrib.reporting.room.Reporting",
    "graph": "apps.contrib.graph.room.DependencyGraph",
    "builder": "apps.contrib.builder.room.Builder",
    "trusted": "apps.contrib.trusted.room.Trusted",
    "bulk": "apps.contrib.bulk.room.Bulk",
    "feeds": "apps.contrib.feeds.room.Feeds",
    "kms": "apps.contrib.kms.room.KeyServices",
    "webhooks": "apps.contrib.webhooks.room.Webhooks",
    "cleanup": "apps.contrib.cleanup.room.Cleanup",
    "apply": "apps.contrib.apply.room.Apply",
    "copy": "apps.contrib.copy.room.Copy",
    "traffic": "apps.contrib.traffic.room.Traffic",
}


def installed() -> list[str]:
    """Return their applications; a copy of the tree may lack some."""
    return [path for path in INSTALLED_ROOMS.values() if find_spec(_package_of(path))]


def left_out(names: Collection[str]) -> frozenset[str]:
    if unknown := sorted({*names} - INSTALLED_ROOMS.keys()):
        raise ImproperlyConfigured(f"LARDER_WITHOUT={unknown[0]!r}: expected some of {', '.join(INSTALLED_ROOMS)}")
    return frozenset(_package_of(INSTALLED_ROOMS[name]) for name in names)


def identity_providers(names_left_out: Collection[str]) -> tuple[Kinds, Kinds]:
    """Return the kinds of rooms, and of those that are left out: settings are read before Django knows rooms."""
    doors = {path: resolve_name(path) for path in installed()}
    of = {door.resolved(name): _package_of(path) for path, door in doors.items() for name in door.identity_providers}
    unused = tuple(kind for kind, package in of.items() if package in names_left_out)
    return tuple(kind for kind in of if kind not in unused), unused


def key_addresses(names_left_out: Collection[str]) -> list[type[KeyAddress]]:
    """Return the kinds of addresses of key services."""
    return _contributed("key_addresses", names_left_out)


def middleware(names_left_out: Collection[str]) -> list[str]:
    """Return what stands before each request."""
    doors = [resolve_name(path) for path in installed() if _package_of(path) not in names_left_out]
    return [f"{door.name}.{name}" for door in doors for name in door.middleware]


def settings(readers: ModuleType) -> dict[str, Any]:
    """Return those that rooms read from the environment."""
    doors = [resolve_name(path) for path in installed()]
    return {name: door.resolved(read)(readers) for door in doors for name, read in door.settings.items()}


def _contributed(contribution: str, names_left_out: Collection[str]) -> list[Any]:
    """Return what doors declare that settings read, before apps are loaded."""
    doors = [resolve_name(path) for path in installed() if _package_of(path) not in names_left_out]
    return [door.resolved(name) for door in doors for name in getattr(door, contribution)]


def _package_of(application: str) -> str:
    return application.rsplit(".", 2)[0]
