"""An Operator and an Auditor follow every kind of link, in the admin and from there: none leads to a refusal."""

import html
import re

import pytest
from django.contrib.auth.models import Group
from django.urls import resolve, reverse

from apps.accounts.models import Namespace, Team, User
from apps.modules.models import ModuleVersion
from apps.releases.models import Release
from tests.admin import rows
from tests.admin.lists import page_of
from tests.admin.releases import oci_rows, provider_rows
from tests.cast import person
from tests.rows import for_each_row

LINK = re.compile(r'<a\s[^>]*href="(/(?!static/)[^"#?]*)')
LEFT_OUT = {"account_logout"}


@pytest.fixture
def walker(browser_of, db):
    """The browser of somebody of staff with a role, beside rows of everything."""
    rows.make(0, 1)
    provider_rows.make(0, 1)
    oci_rows.make(0, 1)

    def of(role):
        user = person(role.lower(), is_staff=True)
        user.groups.add(Group.objects.get(name=role))
        return browser_of(user)

    return of


@pytest.mark.slow
@for_each_row("role", ["Operator", "Auditor"])
def test_no_link_leads_to_a_refusal(walker, role):
    browser, refused = walker(role), {}
    seen: set[str] = set()
    waiting = [(reverse("admin:index"), ""), (reverse("portal:home"), "")]
    while waiting:
        path, came_from = waiting.pop()
        if (name := resolve(html.unescape(path)).view_name) in seen | LEFT_OUT:
            continue
        seen.add(name)
        answer = browser.get(html.unescape(path), follow=True)
        if answer.status_code in (401, 403, 405, 500):  # without bytes some downloads are 404 or 503
            refused[path] = (answer.status_code, came_from)
        elif answer["Content-Type"].startswith("text/html"):
            waiting += [(link, path) for link in LINK.findall(answer.content.decode())]

    assert refused == {}, "path: (status, the page that led there)"
    assert seen >= {"admin:releases_release_change", "portal:module-version", "portal:provider-version", "status"}


def test_what_an_operator_may_not_is_not_offered_and_a_refusal_says_what_is_missing(walker):
    browser, auditor = walker("Operator"), walker("Auditor")
    page = browser.get(page_of(ModuleVersion.objects.get()))
    portal = browser.get(reverse("portal:module-version", args=["team0", "vpc", "aws", "1.0.0"])).text

    acts = {name for name, _ in page.context["page_actions"]}
    assert acts == {"deprecate", "yank", "quarantine", "verify", "reinspect"}
    assert "Quarantine this version" in portal
    assert "Purge this version" not in portal

    assert "Your account lacks the staff role that this page needs" in auditor.get("/admin/accounts/team/add/").text
    refused = auditor.post("/admin/upload/", {"namespace": "team0", "name": "a", "system": "b", "version": "1.0.0"})
    assert refused.status_code in (403, 422)
    assert not Release.objects.filter(name="a/b").exists()


def test_an_operator_does_the_work_of_a_day(walker, bob):
    operator_client = walker("Operator")

    def post(page, *place, **told):
        return operator_client.post(reverse(f"admin:accounts_{page}", args=place), told, follow=True)

    post("namespace_add", name="platform", visibility="internal", breaking_changes="warn", description="")
    platform = Namespace.objects.get(name="platform")
    post("team_add", name="people", description="")
    post("grant_add", namespace=platform.pk, team=Team.objects.get(name="people").pk, role=2)
    assert "The link, shown only" in post("invitation_add", note="Erin", namespace=platform.pk, role=1).text
    post("user_change", bob.pk)  # without the box that says active

    assert set(platform.grants.values_list("user__username", "team__name", "role")) == {
        ("operator", None, 3),
        (None, "people", 2),
    }
    assert User.objects.get(pk=bob.pk).is_active is False
    assert "Only a superuser" in post("user_change", User.objects.get(username="operator").pk).text
    assert User.objects.get(username="operator").is_active is True
