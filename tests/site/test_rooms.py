"""The doors of the rooms: each name at a door leads somewhere, and a room can be left out"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.template.loader import get_template
from django.urls import reverse

from apps.accounts.access import connections
from apps.accounts.models import Grant, Role
from apps.jobs import queues
from apps.portal.frame import namespace_tabs
from apps.room import Room, by_key, rooms
from registry_site.rooms import INSTALLED_ROOMS, installed, left_out
from tests.builders.connecting import connect_all
from tests.house import sources
from tests.mutations.__main__ import copied, selection
from tests.programs import CHECKOUT
from tests.rooms import ARE_ALL_HERE
from tests.turns import TODAY

LISTS = {name for name, value in vars(Room).items() if name[0] != "_" and isinstance(value, tuple | dict)}
# Contributions that are no names below the room.
OTHERS = {
    *("root_urls", "api_urls", "portal_urls", "staff_menu", "reader_menu", "namespace_menu", "version_tabs"),
    *("usage_parts", "periodic_tasks", "queues", "help_topics", "how_to", "admin_lists", "page_sections", "parts"),
    *("sign_in_routes", "act_permissions", "described"),
}
# What is no document of a program.
TEXTS = {"", ".py", ".toml", ".txt", ".html", ".js", ".css", ".yml", ".yaml", ".json", ".conf", ".sh"}
# Matches nothing.
NEVER = "(?!)"
EXCEPTIONS = {"tests/house/landed_migrations.txt"}
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
from apps.portal.frame import namespace_tabs
assert [tab.label for tab in namespace_tabs.tabs()][-1] == "Settings"
for tab in namespace_tabs.tabs():
    for section in tab.sections:
        reverse(section.route, args=["acme"])
for gone in sys.argv[1:]:
    for arguments in ([], ["acme"]):
        try:
            print("still there:", reverse(gone, args=arguments))
        except NoReverseMatch:
            pass
"""


COLLECTED = """
import sys
import django
import pytest
django.setup()
from django.core.management import call_command
call_command("check")
call_command("makemigrations", check=True, dry_run=True, verbosity=0)
sys.exit(pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider"]))
"""
PARALLEL = ("-n", "2", "--dist", "loadgroup", "--no-loadscope-reorder")
# Routes that are gone with their room.
GONE = {
    "assistants": ["assistants:mcp"],
    "git": ["portal:git-repositories"],
    "mirror": ["portal:mirror"],
    "openid": ["portal:sign-on-callback", "portal:sign-on-logout"],
    "saml": ["portal:saml-acs"],
    "checks": ["portal:namespace-checks"],
    "trusted": ["portal:namespace-ci", "portal:trusted-publishers", "api:trusted-publishing-token"],
    "reporting": ["api:usage"],
    "graph": ["portal:module-graph", "api:module-dependents"],
    "builder": ["portal:module-usage"],
    "bulk": ["api:versions-yank"],
    "feeds": ["portal:module-feed", "portal:namespace-feed", "portal:provider-badge"],
    "webhooks": ["portal:webhooks", "portal:site-webhooks", "api:webhooks", "api:site-webhooks"],
    "traffic": ["portal:traffic"],
    "cleanup": ["portal:namespace-cleanup", "api:cleanup"],
}
# Collecting takes half a minute: one of them by turns in CI, all at night.
OF_TODAY = [*INSTALLED_ROOMS][TODAY % len(INSTALLED_ROOMS)]
EACH = [
    pytest.param(room, marks=pytest.mark.slow if room == OF_TODAY else pytest.mark.nightly) for room in INSTALLED_ROOMS
]


def test_every_name_at_a_door_leads_to_something():
    for room in rooms():
        for name in LISTS - OTHERS - {"alarm_tiles"}:
            said = getattr(room, name)
            for one in said.values() if isinstance(said, dict) else said:
                assert room.resolved(one), f"{room.name}: {name}: {one}"
        for model, rows, query, text in room.alarm_tiles.values():
            assert room.get_model(model)
            assert callable(room.resolved(rows))
            assert callable(room.resolved(text))
            assert query.startswith("?")
        for model in room.admin_lists[1]:
            assert room.get_model(model)


def test_every_template_and_tab_at_a_door_exists():
    for room in rooms():
        for entry in room.namespace_menu:
            assert entry.tab in {tab.key for tab in namespace_tabs.tabs()}
        for tab in room.version_tabs:
            assert room.resolved(tab.contents)
            assert not tab.count or room.resolved(tab.count)
            get_template(tab.template)
        for sections in room.page_sections.values():
            for template, fills in sections:
                get_template(template)
                assert callable(room.resolved(fills))
        for name, (_, snippet) in room.how_to.items():
            assert callable(room.resolved(snippet))
            get_template(f"portal/how_to/{name}.html")


def test_only_what_every_larder_has_is_installed_by_name():
    own = {config.name for config in apps.get_app_configs() if config.name.startswith("apps.")}

    assert {path.rsplit(".", 2)[0] for path in installed()} < own


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

    assert len(named) > 40 or not ARE_ALL_HERE
    assert {path: found for path in rest if (found := named & set(ROUTE.findall(path.read_text())))} == {}


def test_nothing_else_asks_for_the_rows_of_a_room_that_can_be_left_out():
    """By the name that they have at a row of the core: without the folder of the room such a query is an error."""
    models = [model for model in apps.get_models() if model.__module__.startswith("apps.contrib.")]
    fields: list[Any] = [field for model in models for field in model._meta.get_fields() if field.is_relation]
    names: set[str] = {
        name
        for field in fields
        if field.concrete and not field.remote_field.hidden and field.related_model not in models
        for name in (field.related_query_name(), field.remote_field.get_accessor_name())
    }
    asked = re.compile(rf"\b(?:{'|'.join(sorted(names) or [NEVER])})(?:__|\b)")
    rest = [*sources.templates(), *sources.python_files("apps", "registry_site")]
    rest = [path for path in rest if not path.is_relative_to(CHECKOUT / "apps" / "contrib")]

    assert names or not ARE_ALL_HERE
    assert {path: found for path in rest if (found := asked.findall(path.read_text()))} == {}


def test_nothing_else_names_a_room_that_can_be_left_out():
    """Documents do, and the record of landed migrations: what was entered there stays, wherever it lies now."""
    names = re.compile(rf"apps[./]contrib[./](?:{'|'.join(INSTALLED_ROOMS)})\b")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    paths = [CHECKOUT / name for name in listed.split("\0") if not name.startswith(("apps/contrib/", "docs/"))]
    texts = (path for path in paths if path.is_file() and path.suffix in TEXTS)
    found = {sources.name_of(path) for path in texts if names.search(path.read_text())}

    assert found - EXCEPTIONS == {"registry_site/rooms.py"}


@pytest.mark.parametrize("left_out", [pytest.param(",".join(INSTALLED_ROOMS), marks=pytest.mark.slow, id="all"), *EACH])
def test_a_room_that_is_left_out_is_nowhere(left_out, tmp_path):
    gone = [route for room in left_out.split(",") for route in GONE.get(room, [])]
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


def test_a_queue_of_rooms_that_are_left_out_needs_no_worker(settings, monkeypatch):
    settings.ROOMS_LEFT_OUT = left_out(INSTALLED_ROOMS)
    monkeypatch.setattr(queues, "is_needed", tuple(by_key("queue_needs")))

    assert set(queues.needed()) == {"check", "sign", "notify"}


def _checked(folder, left_out=""):
    """Return what fails in the checkout of this folder: the checks, a missing migration, or to collect its tests."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("LARDER_", "PYTEST_"))}
    chosen = {"DJANGO_SETTINGS_MODULE": "tests.settings", "LARDER_WITHOUT": left_out}
    words = [sys.executable, "-B", "-c", COLLECTED]
    done = subprocess.run(
        words, env=environment | chosen, cwd=folder, capture_output=True, text=True, check=False, timeout=280
    )
    return done.returncode and done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("room", EACH)
def test_without_its_folder_all_the_rest_is_sound(room, tmp_path):
    folder = copied(tmp_path)
    shutil.rmtree(folder / "apps" / "contrib" / room)

    assert not _checked(folder)


@pytest.mark.nightly
@pytest.mark.parametrize("room", INSTALLED_ROOMS)
def test_left_out_its_tests_are_too_and_all_the_rest_is_sound(room):
    assert not _checked(CHECKOUT, room)


def _quick(folder, left_out=""):
    """Return the end of what `make test` says in the checkout of this folder, or nothing if all pass."""
    for words in (["init", "--quiet"], ["add", "--all"]):  # some tests read what git lists
        subprocess.run(["git", *words], cwd=folder, check=True)
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("LARDER_", "PYTEST_"))}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PARALLEL, "-m", selection("QUICK")]
    done = subprocess.run(
        words,
        env=environment | {"LARDER_WITHOUT": left_out},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    return done.returncode and done.stdout[-9000:] + done.stderr[-3000:]


@pytest.mark.nightly
@pytest.mark.timeout(3300)
@pytest.mark.parametrize("room", INSTALLED_ROOMS)
def test_without_its_folder_make_test_passes(room, tmp_path):
    folder = copied(tmp_path)
    shutil.rmtree(folder / "apps" / "contrib" / room)

    assert not _quick(folder)


@pytest.mark.nightly
@pytest.mark.timeout(3300)
def test_with_a_room_left_out_make_test_passes(tmp_path):
    """One of them each night: the tables of its rows are there, and so is most of what could fail."""
    assert not _quick(copied(tmp_path), OF_TODAY)


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
    command, environment = [sys.executable, "manage.py", "check"], os.environ | {"LARDER_WITHOUT": "kitchen"}
    done = subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert f"LARDER_WITHOUT='kitchen': expected some of {', '.join(INSTALLED_ROOMS)}" in done.stderr
