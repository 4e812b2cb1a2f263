"""/mirror/<host>/policy: staff edit rules, read what a change would hide, and let one version through."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from apps.contrib.mirror.models import UpstreamPackage
from apps.contrib.mirror.policy import advisories, rulebook
from apps.contrib.mirror.tests.policy_rows import LONG_AGO, provider, rule, save, upstream, version, visible
from tests import pages
from tests.cast import person

pytestmark = pytest.mark.django_db
URL = "/mirror/registry.opentofu.org/policy"


@pytest.fixture
def opentofu():
    return upstream()


@pytest.fixture
def random(opentofu):
    found = provider(opentofu)
    version(found, "1.0.0", published_at=LONG_AGO)
    return found


@pytest.fixture
def staff(olga, browser_of):
    return browser_of(olga)


def fields(page):
    """Return what a browser would send for the form of rules as it is shown."""
    form = page.content.decode().split("Change the policy", 1)[1].split("</form>")[0]
    found = {}
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and ('type="checkbox"' not in tag or "checked" in tag):
            found[name[1]] = value[1] if value else ""
    for name, options in re.findall(r'<select name="([^"]*)".*?>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options) or re.search(r'value="([^"]*)"', options)
        assert chosen is not None
        found[name] = chosen[1]
    return found


def test_staff_add_a_rule_preview_it_and_save_it(staff, opentofu, random):
    sent = fields(staff.get(URL))
    page = staff.post(URL, sent | {"more": "1"})
    assert page.status_code == 200
    sent = fields(page) | {
        "rules-0-pattern": "hashicorp/*",
        "rules-0-effect": "deny",
        "rules-0-reason": "Not needed",
    }

    preview = pages.shown(staff.post(URL, sent | {"preview": "1"}))

    assert 'data-hidden="1" data-shown="0"' in preview
    assert "No one is hit: no client fetched what disappears" in preview
    assert "rule 1: deny hashicorp/*" in preview
    assert not opentofu.rules.exists()
    assert visible(random) == ["1.0.0"]

    package = UpstreamPackage.objects.create(
        version=random.versions.get(), os="linux", arch="amd64", filename="a.zip", digest="a" * 64
    )
    UpstreamPackage.objects.filter(pk=package.pk).update(used_at=timezone.now(), uses=3)
    hit = pages.shown(staff.post(URL, sent | {"preview": "1"}))
    assert "<span>version in use is no longer served" in hit
    assert "registry.opentofu.org/hashicorp/random 1.0.0" in hit

    done = staff.post(URL, sent | {"save": "1"}, follow=True)

    assert "Policy saved." in pages.shown(done)
    assert visible(random) == []
    assert "Not needed" in pages.shown(done)


def test_rules_are_reordered_and_removed(staff, opentofu, random):
    save(opentofu, rule("deny", "a/*"), rule("allow", "b/*"), rule("cool_down", "c/*", days=2, platforms=["linux_arm"]))
    sent = fields(staff.get(URL))

    staff.post(URL, sent | {"rules-0-ORDER": "9", "rules-1-DELETE": "on", "cooldown_days": "5", "save": "1"})

    found = [(one.pattern, one.effect, one.days, one.platforms) for one in rulebook.rules_of(opentofu)]
    assert found == [("c/*", "cool_down", 2, ["linux_arm"]), ("a/*", "deny", 0, [])]
    opentofu.refresh_from_db()
    assert opentofu.cooldown_days == 5


def test_a_refused_rule_keeps_what_was_typed_and_one_in_which_nothing_was_typed_is_none(staff, opentofu):
    sent = fields(staff.post(URL, fields(staff.get(URL)) | {"more": "1"}))
    assert sent["rules-TOTAL_FORMS"] == "1"

    refused = staff.post(URL, sent | {"rules-0-pattern": "nonsense", "rules-0-effect": "deny", "save": "1"})
    assert refused.status_code == 422
    assert "Rule 1: found pattern" in refused.content.decode()
    assert fields(refused)["rules-0-pattern"] == "nonsense"

    assert staff.post(URL, sent | {"save": "1"}).status_code == 303
    assert not opentofu.rules.exists()


def test_of_two_people_the_second_is_told(staff, opentofu):
    sent = fields(staff.get(URL))
    save(opentofu, rule("deny", "acme/*"))

    refused = staff.post(URL, sent | {"cooldown_days": "9", "save": "1"})

    assert refused.status_code == 409
    assert "was changed meanwhile" in refused.content.decode()
    assert [one.pattern for one in rulebook.rules_of(opentofu)] == ["acme/*"]


def test_staff_let_one_version_through_and_withdraw_that(staff, opentofu, random):
    save(opentofu, rule("deny"))
    sent = {"allow-address": "hashicorp/random", "allow-version": "9.9.9", "allow-reason": "Needed", "allow-days": "7"}

    refused = staff.post(f"{URL}/exceptions", sent)
    assert refused.status_code == 422
    assert "Larder knows no version 9.9.9" in refused.content.decode()

    done = staff.post(f"{URL}/exceptions", sent | {"allow-version": "1.0.0"}, follow=True)
    assert "hashicorp/random 1.0.0 is visible now." in pages.shown(done)
    assert visible(random, now=timezone.now()) == ["1.0.0"]
    (target,) = re.findall(rf'action="({URL}/exceptions/\d+/withdraw)"', done.content.decode())
    staff.post(target)
    assert visible(random, now=timezone.now()) == []


def test_auditors_read_the_rules_and_which_advisories_are_broken_and_see_no_forms(
    opentofu, random, browser_of, monkeypatch
):
    index = advisories.Index(problems=(advisories.Problem("acme.json", "is not JSON."),), files=1)
    monkeypatch.setattr(advisories, "index", lambda: index)
    ava = person("ava", is_staff=True)
    ava.user_permissions.add(Permission.objects.get(codename="view_upstream"))
    save(opentofu, rule("deny", "acme/*", reason="Not ours"))

    page = pages.shown(browser_of(ava).get(URL))

    assert "Not ours" in page
    assert "Advisories that cannot be read" in page
    assert "acme.json" in page
    assert "Change the policy" not in page
    assert "Allow one version" not in page
