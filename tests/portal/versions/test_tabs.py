"""The tabs of a version: one table for both kinds, the same frame on each page, and those of rooms."""

import re
import sys
from importlib import import_module
from types import ModuleType

import pytest
from django.apps import apps
from django.urls import include, path
from django.utils import timezone

from apps.providers import catalogue
from apps.providers.models import ProviderVersion
from apps.releases.models import Release
from apps.room import VersionTab
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module
from tests.rows import for_each_row

LINK = re.compile(r'<a class="tabs__link" href="([^"]*)"[^>]*>\s*([A-Za-z]+)')
MODULE, PROVIDER = "/modules/acme/vpc/aws", "/providers/acme/vpc"


@pytest.fixture
def provider(acme) -> ProviderVersion:
    version = provider_version(acme, "vpc", "1.0.0", key=row_of_key(acme, 1))
    catalogue.refresh(version.provider)
    return version


def tabs_of(browser, url: str) -> list[tuple[str, str]]:
    answer = browser.get(url)
    assert answer.status_code == 200, url
    return LINK.findall(pages.markup_of(answer))


@for_each_row("at", [MODULE, PROVIDER])
def test_versions_and_usage_stand_in_the_frame_of_a_version(at, browser_of, dora, acme, provider):
    add_module(acme, "vpc/aws", "1.0.0", files=[{"name": "main.tf", "size": 1}])
    browser = browser_of(dora)
    tabs = tabs_of(browser, at)

    for part in ("versions", "usage", "downloads", "outdated"):
        page = pages.markup_of(browser.get(f"{at}/{part}"))
        assert LINK.findall(page) == tabs, part
        assert "Manage this version" in page, part
    assert [label for _, label in tabs if label in {"Versions", "Origin", "Usage"}] == ["Versions", "Origin", "Usage"]


def test_tabs_that_would_say_none_are_hidden_and_a_publisher_is_asked_for_documentation(
    browser_of, bob, alice, provider
):
    labels = [label for _, label in tabs_of(browser_of(bob), PROVIDER)]
    assert labels == ["Overview", "Versions", "Platforms", "Origin", "Usage"]
    assert "Add documentation" in pages.markup_of(browser_of(alice).get(PROVIDER))
    provider.docs_pages.create(kind="resources", slug="record", name="dns_record", html="")

    assert "Documentation" in [label for _, label in tabs_of(browser_of(bob), PROVIDER)]


@for_each_row("at", [MODULE, PROVIDER])
def test_old_versions_are_a_part_of_usage_only_where_there_are_some(at, browser_of, dora, acme, provider):
    add_module(acme, "vpc/aws", "1.0.0")
    browser = browser_of(dora)
    assert "Old versions" not in pages.markup_of(browser.get(f"{at}/usage"))
    Release.objects.update(lifecycle="deprecated", lifecycle_at=timezone.now())

    assert "Old versions" in pages.markup_of(browser.get(f"{at}/usage"))


@for_each_row(("at", "count", "shown"), [(at, *told) for at in (MODULE, PROVIDER) for told in ((2, True), (0, False))])
def test_a_room_adds_a_tab_to_both_kinds(at, count, shown, browser_of, bob, acme, provider, monkeypatch, settings):
    add_module(acme, "vpc/aws", "1.0.0")
    looked = []
    monkeypatch.setattr("apps.modules.lifecycle.look", lambda _, opened, __: looked.append(opened), raising=False)
    monkeypatch.setattr("apps.modules.lifecycle.looks", lambda _, __: count, raising=False)
    tab = VersionTab("looks", "Looks", "portal/provider/not_runnable.html", "lifecycle.look", count="lifecycle.looks")
    monkeypatch.setattr(apps.get_app_config("modules"), "version_tabs", (tab,))
    site = import_module("registry_site.urls")  # first: it has the converters
    frames = (("module", "apps.portal.modules.frame"), ("provider", "apps.portal.providers.pages"))
    added = [
        one
        for kind, module in frames
        for one in import_module("apps.portal.versions.urls").routes(
            getattr(import_module(module), f"{kind.upper()}S"), {"version": None}
        )
        if str(one.name).endswith("-looks")
    ]
    conf = ModuleType("tests_of_a_tab")
    portal = [*added, *import_module("apps.portal.urls").urlpatterns]
    conf.urlpatterns = [path("", include((portal, "portal"))), *site.urlpatterns]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, conf.__name__, conf)
    settings.ROOT_URLCONF = conf.__name__
    browser, url = browser_of(bob), f"{at}/1.0.0/looks"

    labels = [label for _, label in tabs_of(browser, at)]

    assert ("Looks" in labels) == shown
    assert labels[-1] == "Usage"
    page = browser.get(url)
    assert (page.status_code, len(looked)) == (200, 1)
    assert "Looks of acme/vpc" in page.text
