"""The to-dos of people who publish, and /mine."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Namespace, Role
from apps.accounts.people import service_accounts, teams
from apps.lib import versions
from apps.modules.models import ModuleVersion
from apps.providers import catalogue as provider_catalogue
from apps.releases.models import DownloadCount, Fetch, Release, SearchDoc
from registry_site.startup import certificates
from tests import pages
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules

HOSTILE = "<script>alert(1)</script>"


def release(user, namespace, state, version="1.0.0", name="vpc/aws", **more):
    reason = {"code": "x", "found": f"a file {HOSTILE}", "expected": "none", "hint": "Leave it out.", "file": ""}
    key = versions.sort_key(version)
    fields = {"kind": "module", "state": state, "reasons": [reason], "questions": [reason], "staging_key": "", **more}
    return Release.objects.create(
        namespace=namespace, name=name, version=version, sort_key=key, created_by=user, **fields
    )


def waiting(browser, section="waiting-title"):
    return pages.shown(browser.get("/")).partition(f'id="{section}"')[2].partition("</section>")[0]


def told(browser):
    return waiting(browser, "to-know-title")


@pytest.mark.both
def test_releases_wait_until_they_are_answered_mended_or_old(browser_of, alice, acme):
    add_module(acme, "other/aws")
    assert "You're all caught up." in waiting(browser_of(alice))
    for state in ("held", "checking", "rejected", "failed"):
        release(alice, acme, state, name=f"{state}/aws")
    release(alice, acme, "rejected", name="mended/aws")
    release(alice, acme, "received", name="mended/aws")
    old = release(alice, acme, "rejected", name="old/aws")
    Release.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=15))

    page, running = waiting(browser_of(alice)), told(browser_of(alice))

    lines = [
        "acme/held/aws 1.0.0 needs your answer",
        "acme/failed/aws 1.0.0 failed",
        "acme/rejected/aws 1.0.0 was rejected",
    ]
    assert [page.count(f"{line}</a>") for line in lines] == [1, 1, 1]
    assert page.index(lines[0]) < page.index(lines[1]) < page.index(lines[2])
    assert "acme/checking/aws 1.0.0 is being checked" in running
    assert "acme/mended/aws 1.0.0 is waiting for a worker" in running
    assert not [name for name in ("old", "mended") if name in page]
    assert "<script>" not in pages.markup_of(browser_of(alice).get("/"))


def test_keys_and_tokens_wait_before_they_end(browser_of, dora, alice, acme, pantry):
    add_module(acme, "vpc/aws")
    row_of_key(acme, 1, expires_at=timezone.now() + timedelta(days=20))
    row_of_key(acme, 2, expires_at=timezone.now() + timedelta(days=200))
    row_of_key(pantry, 3, expires_at=timezone.now() + timedelta(days=20))  # not hers
    team = teams.create(name="cooks", actor=Viewer(dora))
    robot = service_accounts.create(team=team, name="ci", actor=Viewer(dora))
    for user, label, days in (
        (dora, f"laptop {HOSTILE}", 3),
        (dora, "later", 60),
        (dora, "long-gone", -8),
        (robot, "nightly", -2),
        (alice, "hers", 3),
    ):
        token, _ = tokens.issue(user=user, label=label, scope="read", actor=Viewer(dora))
        ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() + timedelta(days=days))

    page = waiting(browser_of(dora))

    assert page.count("Signing key of acme expires</a>") == 1
    assert page.index("Signing key of acme expires") < page.index("Token of cooks.ci[bot] has expired")
    assert page.index("nightly") < page.index("laptop")
    assert "Clients that use “nightly” no longer work. Create another." in page
    assert not [label for label in ("later", "long-gone", "hers") if label in page]
    assert f"/teams/cooks/service-accounts/{robot.pk}" in page
    assert "Signing key" not in waiting(browser_of(alice)), "publishers cannot add one"


@pytest.mark.both
def test_users_of_deprecated_versions_are_counted(browser_of, alice, bob, acme, hall):
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0", "2.0.0")
    provider_catalogue.refresh(provider_version(acme, "dns", "1.0.0", key=row_of_key(acme, 1)).provider)
    today = timezone.now().date()
    for version, state, name in (
        ("1.0.0", "deprecated", "vpc/aws"),
        ("1.1.0", "yanked", "vpc/aws"),
        ("1.0.0", "yanked", "dns"),
    ):
        Release.objects.filter(version=version, name=name).update(lifecycle=state)
    for version, days_ago, count in (("1.0.0", 1, 40), ("1.0.0", 31, 7), ("1.1.0", 31, 7), ("2.0.0", 1, 99)):
        row = Release.objects.get(version=version, name="vpc/aws")
        DownloadCount.objects.create(release=row, day=today - timedelta(days=days_ago), client="other", count=count)
        Fetch.objects.create(
            release=row, user=bob if days_ago == 1 else alice, last_on=today, count=1
        ) if days_ago == 1 else None

    page = told(browser_of(alice))

    assert "acme/vpc/aws 1.0.0 is deprecated and still used" in page
    assert "40 downloads in the last 30 days, 1 person signed in." in page
    assert page.count("still used</a>") == 1
    assert 'href="/modules/acme/vpc/aws/usage"' in page, "it leads to who uses it"


def test_mine_has_downloads_and_health_of_what_i_publish_and_nothing_else(browser_of, alice, bob, acme, pantry):
    add_module(acme, "vpc/aws", health={"rules": 1, "missing": {"readme": "no README"}})
    add_module(pantry, "rare/aws", inspection={"units": []})
    add_module(Namespace.objects.create(name="closed", canonical="closed"), "secret/aws")
    read = Namespace.objects.create(name="read", canonical="read")
    Grant.objects.create(namespace=read, user=alice, role=Role.READER)
    add_module(read, "theirs/aws")
    SearchDoc.objects.filter(name="vpc/aws").update(downloads=1234)
    row = Release.objects.get(name="vpc/aws")
    DownloadCount.objects.create(release=row, day=timezone.now().date(), client="other", count=56)

    page = pages.shown(browser_of(alice).get("/mine"))

    assert page.index("/modules/acme/vpc/aws") < page.index("/modules/pantry/rare/aws")
    assert "1,234 downloads, 56 in 30 days" in " ".join(page.split())
    assert "9 of 10" in page
    assert "To improve: Add README.md" in page
    assert "secret" not in page
    assert "theirs" not in page
    assert "Nothing here yet" in pages.shown(browser_of(bob).get("/mine"))
    home = pages.shown(browser_of(alice).get("/"))
    assert "9 of 10" in home.partition('id="owned-title"')[2]


def test_who_publishes_nothing_sees_what_to_do_first(browser_of, bob, charlie, acme, pantry, settings, tmp_path):
    add_module(pantry, "label/null")
    trust = '<a href="/how-to-use#certificates">trust the certificate</a>'
    for user in (bob, charlie):
        page = pages.shown(browser_of(user).get("/"))

        assert "Sign in on the command line" in page
        assert 'id="waiting-title"' not in page
        assert "/modules/pantry/label/null" in page
        assert trust not in page
    settings.DATA_DIR, settings.TLS, settings.PUBLIC_URL = tmp_path, "auto", "https://127.0.0.1:8443"
    certificates.served("auto", data_dir=tmp_path, listen_host="127.0.0.1", public_url=settings.PUBLIC_URL)
    assert trust in pages.shown(browser_of(bob).get("/")), "that of Larder's own authority"


def test_both_pages_cost_the_same_at_any_size(browser_of, alice, acme, django_assert_max_num_queries):
    count = 40
    add_modules(acme, [f"part-{position}/aws" for position in range(count)], ["1.0.0", "1.1.0"])
    ModuleVersion.objects.filter(release__name="part-1/aws").update(health={"rules": 1, "missing": {}})
    for position in range(count):
        release(alice, acme, "rejected", name=f"refused-{position}/aws")
        tokens.issue(user=alice, label=f"t{position}", scope="read", actor=Viewer(alice), lifetime=timedelta(days=5))
    Release.objects.filter(version="1.0.0").update(lifecycle="deprecated")
    today = timezone.now().date()
    DownloadCount.objects.bulk_create(
        DownloadCount(release=row, day=today, client="other", count=1)
        for row in Release.objects.filter(version="1.0.0")
    )
    browser = browser_of(alice)

    with django_assert_max_num_queries(16):
        assert browser.get("/").status_code == 200
    with django_assert_max_num_queries(10):  # home has counted what the badge shows
        assert browser.get("/mine").status_code == 200
