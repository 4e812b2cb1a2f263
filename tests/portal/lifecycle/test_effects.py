"""The card above the button: who is hit by an act, in which way, and who of them is notified in the same step."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import Grant, Role, Scope, User
from apps.notify import outbox
from apps.notify.models import Letter
from apps.releases.models import DownloadCount, Fetch, Release
from tests import pages
from tests.modules.dependents.rows import calls, reported, requires
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module
from tests.rows import for_each_row

URL = "/modules/acme/vpc/aws/1.2.0/lifecycle"
API = "/api/v1/modules/acme/vpc/aws/1.2.0"
NO_ONE = "No one is hit"


@pytest.fixture
def vpc(acme):
    return add_module(acme, "vpc/aws", "1.2.0", "1.3.0")


@pytest.fixture
def release(vpc) -> Release:
    return Release.objects.get(name="vpc/aws", version="1.2.0")


@pytest.fixture
def hit(release, acme, pantry, bob, charlie, settings):
    """Bob's pipeline reports it, Charlie owns a module that pins it, and another one allows a range."""
    settings.SMTP = {"host": "127.0.0.1", "port": 1}
    User.objects.update(email="someone@acme.example")
    reported(bob, release, "acme/shop-infra", folder="envs/production")
    Grant.objects.create(namespace=acme, user=charlie, role=Role.READER)
    Grant.objects.create(namespace=pantry, user=charlie, role=Role.OWNER)
    calls(add_module(pantry, "pinned/aws"), "acme/vpc/aws", constraint="1.2.0")
    calls(add_module(pantry, "ranged/aws"), "acme/vpc/aws", constraint="~> 1.2")
    Fetch.objects.create(release=release, user=bob, last_on=timezone.now().date(), count=7)
    DownloadCount.objects.create(release=release, day=timezone.now().date(), client="OpenTofu 1.12.6", count=9)
    old = timezone.now().date() - timedelta(days=60)
    DownloadCount.objects.create(release=release, day=old, client="Terraform 1.5.7", count=5)


def page_of(browser, act: str) -> str:
    return pages.shown(browser.get(f"{URL}?act={act}"))


def groups_of(page: str) -> dict[str, str]:
    """The lists of the card by their titles."""
    found = [part.partition("</table>")[0] for part in page.split("<h3>")[1:]]
    return {part.partition("</h3>")[0]: part for part in found}


def letters() -> dict[str, Letter]:
    outbox.dispatch()
    return {str(letter.user): letter for letter in Letter.objects.all()}


@pytest.mark.both
def test_an_owner_sees_who_fails_who_moves_and_how_much_it_is_used(hit, browser_of, dora):
    page = page_of(browser_of(dora), "yank")
    found = groups_of(page)

    assert '<strong class="figure">1</strong> <span>module fails at its next init</span>' in page
    assert "<span>configuration fails if it pins the version exactly</span>" in page
    assert "<span>module moves to 1.3.0</span>" in page
    assert '<strong class="figure">9</strong> <span>downloads in 30 days</span>' in page
    assert "1 module fails at its next init." in page, "again beside the button"
    assert "2 of the downloads came without a token" in page
    assert "pantry/pinned/aws" in found["Modules that fail: no other version fits"]
    assert "acme/shop-infra" in found["Configurations that fail if they pin it exactly, and move otherwise"]
    assert "envs/production" in found["Configurations that fail if they pin it exactly, and move otherwise"]
    assert "pantry/ranged/aws" in found["Modules that allow a range, and move"]
    assert "bob" in found["Accounts that downloaded it in the last 30 days"]
    assert page.index("pantry/pinned/aws") < page.index("acme/shop-infra") < page.index("pantry/ranged/aws")
    assert page.index("data-effects") < page.index('type="submit"', page.index("data-effects"))


def test_a_publisher_reads_how_many_configurations_and_not_which(hit, browser_of, alice):
    page = page_of(browser_of(alice), "deprecate")

    assert "<span>configuration keeps working</span>" in page
    assert "acme/shop-infra" not in page
    assert "pantry/pinned/aws" in page


def test_a_module_that_the_viewer_cannot_see_is_not_named(hit, pantry, browser_of, dora):
    pantry.visibility = "private"
    pantry.save(update_fields=["visibility"])
    assert "pantry/" not in page_of(browser_of(dora), "yank")


def test_where_no_one_is_hit_one_green_line_says_so(release, browser_of, dora, olga):
    for user, act in ((dora, "deprecate"), (dora, "yank"), (olga, "quarantine")):
        page = page_of(browser_of(user), act)
        assert NO_ONE in page, act
        assert "Notify the" not in page
    assert NO_ONE in pages.shown(browser_of(olga).get(f"{URL}/purge"))


@for_each_row(("act", "reads_reason"), [("deprecate", True), ("yank", True), ("quarantine", False), ("purge", True)])
def test_those_behind_them_are_notified_in_the_same_step(hit, browser_of, olga, act, reads_reason):
    browser, url = browser_of(olga), f"{URL}/purge" if act == "purge" else URL
    page = pages.shown(browser.get(url, {"act": act}))
    assert "Notify the 2 people behind them" in page
    assert "bob" in page

    told = {"act": act, "reason": "It loses data.", "notify": "on", "confirm": "acme/vpc/aws 1.2.0"}
    answer = browser.post(url, told, follow=True)

    assert "Larder notifies 2 people." in answer.text
    found = letters()
    assert {"bob", "charlie"} <= set(found)
    for name in ("bob", "charlie"):
        assert "by olga" in found[name].subject
        assert ("It loses data." in found[name].text) == reads_reason
    assert "olga" not in found, "she knows"


def test_without_the_switch_only_those_who_fetched_it_lately_read_of_a_yank(hit, browser_of, dora):
    browser_of(dora).post(URL, {"act": "yank", "reason": "It loses data.", "replacement": "1.3.0"})

    found = letters()
    assert set(found) == {"bob"}
    assert "Use instead: 1.3.0" in found["bob"].text
    assert Release.objects.get(version="1.2.0").lifecycle_replacement == "1.3.0"


def test_a_lock_file_says_which_configurations_of_a_provider_move(acme, alice, bob, dora, browser_of):
    key = row_of_key(acme, 1, custody="registry")
    taken = provider_version(acme, "dns", "1.2.0", key=key, user=alice).release
    provider_version(acme, "dns", "1.3.0", key=key, user=alice)
    reported(bob, taken, "acme/exact", constraint="1.2.0")
    reported(bob, taken, "acme/range", constraint="~> 1.0")
    requires(add_module(acme, "zones/aws"), "acme/dns", constraint=">= 1.2, < 1.3")
    found = groups_of(pages.shown(browser_of(dora).get("/providers/acme/dns/1.2.0/lifecycle?act=yank")))

    assert "acme/exact" in found["Configurations that fail: no other version fits"]
    assert "acme/zones/aws" in found["Modules that fail: no other version fits"]
    assert "acme/range" in found["Configurations that allow a range, and move"]
    assert "1.3.0" in found["Configurations that allow a range, and move"]


def test_the_api_answers_the_same_and_does_nothing(hit, tofu, dora, alice, bob, olga):
    def dry(user, act, scope=Scope.MANAGE, query="dry_run=1"):
        return tofu(user, scope).post(f"{API}/{act}?{query}")

    found = dry(dora, "yank").json()
    assert (found["fails"], found["may_fail"], found["moves"], found["downloads"], found["people"]) == (1, 1, 1, 9, 2)
    by_name = {one["name"]: (one["kind"], one["effect"], one["gets"]) for one in found["hits"]}
    assert by_name["pantry/pinned/aws"] == ("module", "fails", "")
    assert by_name["pantry/ranged/aws"] == ("module", "moves", "1.3.0")
    assert by_name["acme/shop-infra"][:2] == ("configuration", "may-fail")
    assert "acme/shop-infra" not in dry(alice, "deprecate").text, "that is for owners"
    assert dry(bob, "yank").status_code == dry(dora, "quarantine").status_code == 403
    assert dry(olga, "purge").json()["fails"] == 1
    assert dry(dora, "yank", query="dry_run=yes").status_code == 422
    assert Release.objects.get(version="1.2.0").lifecycle == "maintained"


def test_the_api_notifies_them_and_a_machine_does_not(hit, tofu, dora, acme, settings):
    body = json.dumps({"reason": "It loses data.", "notify": True})
    machine = User.objects.create(username="ci[bot]", is_service=True)
    Grant.objects.create(namespace=acme, user=machine, role=Role.PUBLISHER)
    refused = tofu(machine, Scope.PUBLISH).generic("POST", f"{API}/deprecate", body, content_type="application/json")
    assert refused.status_code == 403
    answer = tofu(dora).generic("POST", f"{API}/yank", body, content_type="application/json")

    assert answer.status_code == 200
    assert set(letters()) == {"bob", "charlie"}


def test_many_users_cost_no_more_queries(release, acme, bob, browser_of, dora):
    browser, costs = browser_of(dora), []
    for more in (1, 9):
        for number in range(more):
            name = f"m{more}{number}/aws"
            calls(add_module(acme, name), "acme/vpc/aws", constraint="1.2.0")
            reported(bob, release, f"acme/{name}")
        costs.append(pages.queries_of(browser, f"{URL}?act=yank"))

    assert costs[0] == costs[1]
