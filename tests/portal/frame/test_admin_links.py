"""From the portal's page of a thing to the admin's, for staff alone, and back."""

import pytest
from django.urls import reverse

from apps.accounts.models import Namespace
from apps.modules.models import Module, ModuleVersion
from apps.releases.models import Release

VERSION = ["acme", "vpc", "aws", "1.2.0"]


@pytest.fixture
def pages(published):
    """Pages of the portal with the page of the admin that each leads to."""
    release = published("acme/vpc/aws", "1.2.0")
    admin = {
        model: reverse(
            f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[model._default_manager.get(**of).pk]
        )
        for model, of in [(Release, {}), (Module, {}), (ModuleVersion, {}), (Namespace, {"name": "acme"})]
    }
    return {
        reverse("portal:release", args=[release.public_id]): admin[Release],
        reverse("portal:module-versions", args=VERSION[:3]): admin[Module],
        reverse("portal:module-version", args=VERSION): admin[ModuleVersion],
        reverse("portal:namespace", args=["acme"]): admin[Namespace],
    }


def test_staff_find_the_way_there_and_back(browser_of, olga, pages):
    for page, admin in pages.items():
        assert f'href="{admin}"' in browser_of(olga).get(page).text, page
        there = browser_of(olga).get(admin)
        assert there.status_code == 200
        assert "View on site" in there.text


def test_nobody_else_sees_such_a_link(browser_of, alice, pages):
    for page in pages:
        text = browser_of(alice).get(page)
        assert text.status_code == 200
        assert "/admin/" not in text.text, page
