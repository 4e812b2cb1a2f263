"""Every way in by which somebody may change something: routes, what the admin lets a superuser do, and commands.

A entry_point is called `POST api:keys`, `action signing.signingkey.revoke`, `add accounts.team` or `command purge`.
"""

import tomllib
from collections.abc import Iterator

from django.contrib.admin import site
from django.core.management import get_commands
from django.test import RequestFactory

from tests import rooms
from tests.house import sources
from tests.house.policy.table import TABLES
from tests.house.routes import METHODS, all_routes

# What every admin site has, and every model below it; what they may do is asked of the model's own admin.
STOCK = {
    "admin:index",
    "admin:login",
    "admin:logout",
    "admin:password_change",
    "admin:password_change_done",
    "admin:autocomplete",
    "admin:jsi18n",
    "admin:view_on_site",
    "admin:app_list",
}
PAGES = ("changelist", "add", "history", "delete", "change")
TABLE = tomllib.loads((sources.CHECKOUT / "tests/house/entry_points/entry_points.toml").read_text())
for part in rooms.tables("entry_points"):
    TABLE["harmless"] |= part["harmless"]


def all_entry_points(superuser) -> set[str]:
    return {*_routes(), *_admin_pages(), *_admin_rights(superuser), *_commands()}


def classified() -> list[str]:
    """Every entry_point of the table, as often as it stands there."""
    return [entry_point for group in TABLE.values() for kind in group.values() for entry_point in kind["entry_points"]]


def group(name: str) -> dict[str, list[str]]:
    """The entry_points of a group by their kind."""
    return {kind: entry["entry_points"] for kind, entry in TABLE[name].items()}


def _routes() -> Iterator[str]:
    """Whatever is not only read. Which methods a route takes is in the policy, where every other one is refused."""
    for route in all_routes():
        if route.name and not route.is_admin:
            listed = TABLES.get(route.name, {"of an unlisted route": {}})
            yield from (f"{method} {route.name}" for method in listed if method != METHODS[0])


def _admin_pages() -> Iterator[str]:
    """Pages that somebody wrote beside the stock ones."""
    stock = {f"admin:{m._meta.app_label}_{m._meta.model_name}_{page}" for m in site._registry for page in PAGES}
    names = {route.name for route in all_routes() if route.is_admin and route.name}
    yield from (f"POST {name}" for name in names - stock - STOCK)


def _admin_rights(superuser) -> Iterator[str]:
    request = RequestFactory().get("/admin/")
    request.user = superuser
    for model, its in site._registry.items():
        label = f"{model._meta.app_label}.{model._meta.model_name}"
        rights = {
            "add": its.has_add_permission,
            "change": its.has_change_permission,
            "delete": its.has_delete_permission,
        }
        yield from (f"{right} {label}" for right, is_given in rights.items() if is_given(request))
        yield from (f"action {label}.{name}" for name in its.get_actions(request) if name != "export_csv")  # it reads


def _commands() -> Iterator[str]:
    ours = ("apps.", "registry_site")
    yield from (f"command {name}" for name, app in get_commands().items() if str(app).startswith(ours))
