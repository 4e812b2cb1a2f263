"""The five tabs of a namespace, the sections in them, and what is beside its list."""

import re
from datetime import timedelta

from django.utils import timezone

from apps.accounts.models import Grant, Namespace, Role
from apps.releases.models import Release, SearchDoc
from tests.portal.providers.rows import row_of_key
from tests.portal.rows import add_module


def test_each_sees_the_tabs_in_which_there_is_something_for_them(browser_of, client, bob, alice, dora, acme):
    Namespace.objects.update(visibility="public")

    def labels(browser):
        return re.findall(r'<a class="tabs__link"[^>]*>\s*([^<]*?)\s*</a>', browser.get("/namespaces/acme").text)

    assert labels(client) == labels(browser_of(bob)) == ["Modules and providers", "Settings"]
    row_of_key(acme, 1)
    assert labels(browser_of(bob)) == ["Modules and providers", "Publishing", "Settings"]
    assert labels(browser_of(alice)) == ["Modules and providers", "Publishing", "Settings"]
    every = ["Modules and providers", "Publishing", "People", "Activity", "Settings"]
    assert labels(browser_of(dora)) == every


def test_an_owner_says_where_to_begin(browser_of, client, dora, pantry):
    Grant.objects.create(namespace=pantry, user=dora, role=Role.OWNER)
    words = "Take **jam/aws** first. <script>alert(1)</script>"
    form = {"visibility": "public", "description": "", "introduction": words}

    assert browser_of(dora).post("/namespaces/pantry/change", form).status_code == 303

    page = client.get("/namespaces/pantry").text
    assert "Start here" in page
    assert "<strong>jam/aws</strong>" in page
    assert "<script>alert" not in page


def test_the_page_names_the_newest_releases_and_where_to_begin_among_many(browser_of, client, alice, acme):
    Namespace.objects.update(visibility="public")
    for name in ("a", "b", "c"):
        add_module(acme, f"{name}/aws", "1.0.0")
    assert "Start here" not in client.get("/namespaces/acme").text
    add_module(acme, "d/aws", "1.0.0", "2.0.0")
    SearchDoc.objects.filter(name="d/aws").update(downloads=7)
    Release.objects.filter(name="a/aws").update(visible_at=timezone.now() + timedelta(hours=1))

    visitor, member = client.get("/namespaces/acme"), browser_of(alice).get("/namespaces/acme")

    assert [str(row.address) for row in visitor.context["start"]] == ["acme/d/aws"]
    recent = [f"{one.address} {one.release.version}" for one in visitor.context["recent"]]
    assert "acme/d/aws 2.0.0" in recent
    assert "acme/a/aws 1.0.0" not in recent
    assert "acme/a/aws 1.0.0" in [f"{one.address} {one.release.version}" for one in member.context["recent"]]


def test_an_owner_changes_the_release_rules_and_the_settings_leave_them_alone(browser_of, dora, acme):
    owner = browser_of(dora)
    page = owner.get("/namespaces/acme/rules").content.decode()
    assert re.search(r'name="breaking_changes" value="warn"[^>]* checked', page)
    sent = {"breaking_changes": "refuse", "cooldown_hours": "6", "requires_approval": "on"}
    assert owner.post("/namespaces/acme/rules", sent).status_code == 303

    assert owner.post("/namespaces/acme/change", {"visibility": "private"}).status_code == 303

    acme.refresh_from_db()
    assert (acme.breaking_changes, acme.cooldown_hours, acme.requires_approval) == ("refuse", 6, True)
    assert owner.post("/namespaces/acme/rules", {"breaking_changes": "perhaps"}).status_code == 422
