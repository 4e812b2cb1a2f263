"""The names of lists and how they are grouped: by what operators do."""

from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.urls import reverse

from apps.accounts.models import ApiToken, Namespace
from registry_site.admin.site import NAVIGATION
from tests.admin import rows
from tests.admin.lists import first, list_of, page_of


def test_each_list_has_one_place():
    placed = [model for _, models in NAVIGATION for model in models]

    assert sorted(placed, key=str) == sorted(admin.site._registry, key=str)


def test_groups_are_named_for_what_operators_do(operator_client):
    groups = operator_client.get(list_of(Namespace)).context["available_apps"]

    assert [group["name"] for group in groups] == [name for name, _ in NAVIGATION]
    assert "API tokens" in [one["name"] for group in groups for one in group["models"]]
    # A package has no page of its own.
    assert operator_client.get("/admin/accounts/").headers["Location"] == reverse("admin:data")


def test_who_may_see_one_list_has_one_group(bob, browser_of):
    bob.is_staff = True
    bob.save()
    bob.user_permissions.add(Permission.objects.get(codename="view_signingkey"))
    groups = browser_of(bob).get(reverse("admin:index")).context["app_list"]

    assert [(group["name"], len(group["models"])) for group in groups] == [("Keys", 1)]


def test_names_and_crumbs_are_those_of_the_navigation(operator_client):
    rows.make(0, 1)
    token = first(ApiToken)
    crumbs = f'<a href="{list_of(ApiToken)}">API tokens</a>'

    listed = operator_client.get(list_of(ApiToken)).text
    assert "<h1>API tokens</h1>" in listed
    assert "Api token" not in listed
    assert '"/admin/accounts/"' not in listed
    assert crumbs in operator_client.get(page_of(token)).text
    history = operator_client.get(reverse("admin:accounts_apitoken_history", args=[token.pk])).text
    assert crumbs in history
    assert f'<a href="{page_of(token)}">{token}</a>' in history


def test_the_names_need_no_migration(db):
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
