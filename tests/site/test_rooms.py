"""The doors of the rooms: each name at a door leads somewhere, and a room can be left out"""

import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module

import pytest
from django.apps import apps
from django.urls import reverse

from apps.accounts.access import connections
from apps.accounts.models import Grant, Role
from apps.blobs import store
from apps.blobs.models import Blob, State
from apps.contrib.mirror.tests import documented
from apps.jobs import queues
from apps.room import ALWAYS, Room, all_of, by_key, rooms
from registry_site.rooms import INSTALLED_ROOMS, left_out
from tests.builders.connecting import connect_all
from tests.house import sources
from tests.programs import CHECKOUT
from tests.rows import for_each_row

LISTS = {name for name, value in vars(Room).items() if name[0] != "_" and isinstance(value, tuple | dict)}
# Contributions that are no names below the room.
OTHERS = {
    "root_urls",
    "api_urls",
    "portal_urls",
    "staff_menu",
    "namespace_menu",
    "periodic_tasks",
    "admin_lists",
    "parts",
    "sign_in_routes",
}
ROUTE = re.compile(r"[\"']((?:portal|api):[\w-]+)[\"']")
LEFT_OUT = """
import django
django.setup()
from django.core.management import call_command
from django.template.loader import get_template
from django.urls import NoReverseMatch, Resolver404, resolve, reverse
from registry_site import celery
call_command("check")
call_command("makemigrations", check=True, dry_run=True, verbosity=0)
for path in ("/", "/api/v1/search", reverse("portal:publish")):
    resolve(path)
tabs = get_template("portal/namespaces/tabs.html").render({"namespace": {"name": "acme"}, "may_manage": True})
assert "Settings" in tabs, tabs
for gone in sys.argv[1:]:
    for arguments in ([], ["acme"]):
        try:
            print("still there:", reverse(gone, args=arguments))
        except NoReverseMatch:
            pass
"""


def test_every_name_at_a_door_leads_to_something():
    for room in rooms():
        for name in LISTS - OTHERS - {"alarm_tiles"}:
            said = getattr(room, name)
            for one in said.values() if isinstance(said, dict) else said:
                assert room.resolved(one), f"{room.name}: {name}: {one}"
        for model, rows, query in room.alarm_tiles.values():
            assert room.get_model(model)
            assert callable(room.resolved(rows))
            assert query.startswith("?")
        for model in room.admin_lists[1]:
            assert room.get_model(model)


def test_only_what_every_larder_has_is_installed_by_name():
    own = {config.name for config in apps.get_app_configs() if config.name.startswith("apps.")}

    assert {path.rsplit(".", 2)[0] for path in INSTALLED_ROOMS.values()} < own


def test_nothing_else_links_to_a_room_that_can_be_left_out():
    """Its door says where: a page with the name of its route would be an error where the room is not there."""
    import_module("registry_site.urls")  # has the converters
    named = {
        f"{namespace}:{pattern.name}"
        for one in rooms()
        if one.name.startswith("apps.contrib.")
        for namespace, modules in (("portal", one.portal_urls), ("api", one.api_urls))
        for module in modules
        for pattern in import_module(module).urlpatterns
    }
    rest = [*sources.templates(), *sources.python_files("apps", "registry_site")]
    rest = [path for path in rest if not path.is_relative_to(CHECKOUT / "apps" / "contrib")]

    assert len(named) > 40
    assert {path: found for path in rest if (found := named & set(ROUTE.findall(path.read_text())))} == {}
    imports = [path for path in rest if "apps.contrib" in path.read_text()]
    assert [sources.name_of(path) for path in imports] == ["registry_site/rooms.py"]


@pytest.mark.slow
@for_each_row(
    ("left_out", "gone"),
    [
        ("assistants", ["assistants:mcp"]),
        ("git", ["portal:git-repositories"]),
        ("mirror", ["portal:mirror"]),
        ("saml", ["portal:saml-acs"]),
    ],
)
def test_a_room_that_is_left_out_is_nowhere(left_out, gone, tmp_path):
    (tmp_path / "secret_key").write_text("only-for-tests-" + "x" * 50)
    chosen = {
        "LARDER_WITHOUT": left_out,
        "LARDER_DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "registry_site.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{LEFT_OUT}", *gone],
        env=os.environ | chosen,
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, "still there" in done.stdout) == (0, False), done.stdout + done.stderr


@pytest.mark.both
@pytest.mark.django_db
def test_what_a_room_that_is_left_out_has_stored_stays_safe(settings):
    blob = documented.package().blob
    assert blob is not None
    everything = {name: all_of(name) for name in ALWAYS}
    settings.ROOMS_LEFT_OUT = left_out(INSTALLED_ROOMS)

    assert not store.remove(blob.digest)
    assert Blob.objects.filter(pk=blob.pk, state=State.READY).exists()
    assert {name: all_of(name) for name in ALWAYS} == everything
    assert "upstreams" not in dict(by_key("doctor_looks"))


def test_a_queue_of_rooms_that_are_left_out_needs_no_worker(settings, monkeypatch):
    settings.ROOMS_LEFT_OUT = left_out(INSTALLED_ROOMS)
    monkeypatch.setattr(queues, "is_needed", tuple(by_key("queue_needs")))

    assert set(queues.needed()) == {"check", "sign", "notify"}


@pytest.mark.django_db
def test_a_repository_that_nothing_shows_is_listed_among_the_connections(acme, alice, monkeypatch):
    """The page to which the list would lead is not there while publishing from Git is left out."""
    Grant.objects.filter(user=alice).update(role=Role.OWNER)
    connect_all(acme, alice)
    left = [replace(one, path=lambda _: reverse("portal:not-there")) for one in connections.sources]
    monkeypatch.setattr(connections, "sources", tuple(left))

    page = reverse("portal:namespace-connections", args=["acme"])
    assert {one.path for one in connections.of(acme)} == {page}


def test_an_unknown_room_is_named():
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        env=os.environ | {"LARDER_WITHOUT": "kitchen"},
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "LARDER_WITHOUT='kitchen': expected some of mirror, git, assistants, saml" in done.stderr
