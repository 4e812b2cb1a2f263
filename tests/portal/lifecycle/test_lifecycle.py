"""The pages on which a version is deprecated, yanked, put into quarantine, restored and purged."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.modules.models import ModuleCall, ModuleVersion
from apps.releases.models import DownloadCount, Fetch, Release
from tests import pages
from tests.rows import for_each_row

pytestmark = pytest.mark.usefixtures("shelf")

PAGE = "/modules/acme/vpc/aws/1.2.0"
URL = f"{PAGE}/lifecycle"


def send(browser, act, reason="It loses data.", **more):
    return browser.post(URL, {"act": act, "reason": reason, **more})


def calls(version_row, constraint, unit="", name="vpc"):
    where = {"target_namespace": "acme", "target_name": "vpc", "target_system": "aws"}
    ModuleCall.objects.create(version=version_row, unit=unit, name=name, source="…", constraint=constraint, **where)


def test_the_safe_act_stands_first_and_says_that_it_breaks_nobody(published, browser_of, dora):
    for version in ("1.1.0", "1.2.0", "1.3.0-rc.1"):
        published(version=version)
    browser = browser_of(dora)
    page = pages.markup_of(browser.get(URL))

    assert page.index('id="deprecate"') < page.index('id="yank"')
    assert "Safe for all users" in page
    assert "Clients ask for the list of versions before they download anything" in page
    assert 'id="quarantine"' not in page, "that is for staff"
    assert "To roll back to 1.1.0, yank 1.2.0: clients whose range allows 1.1.0 then get it" in page
    assert "To roll back" not in pages.markup_of(browser.get(URL.replace("1.2.0", "1.1.0")))
    for act in ("purge", ""):
        assert send(browser, act).status_code == 400, "there is no such act"


@for_each_row(
    ("act", "words"),
    [("deprecate", "This version is deprecated"), ("yank", "This version is yanked")],
)
def test_an_act_leads_to_the_versions_page_which_says_so(published, browser_of, dora, alice, act, words):
    published()
    browser = browser_of(dora)
    response = send(browser, act)

    assert (response.status_code, response.url) == (303, PAGE)
    page = pages.markup_of(browser.get(PAGE))
    assert words in page
    assert "It loses data." in page
    assert "by dora" in page
    link = '<a href="/modules/acme/vpc/aws/usage/notify?version=1.2.0">Notify users of 1.2.0</a>'
    for url in (PAGE, URL):
        assert link in pages.markup_of(browser.get(url))
        assert "Notify users" not in pages.markup_of(browser_of(alice).get(url)), "that is for owners"


@for_each_row(
    ("text", "shown"),
    [
        ("1.3.0", '<a class="mono" href="/modules/pantry/vpc/aws/1.3.0">1.3.0</a>'),
        ("acme/net/aws 2.0.0", '<a class="mono" href="/modules/acme/net/aws/2.0.0">acme/net/aws 2.0.0</a>'),
        ("acme/net/aws@2.0.0", '<a class="mono" href="/modules/acme/net/aws/2.0.0">acme/net/aws@2.0.0</a>'),
        ("the <b>network</b> team's module", "the &lt;b&gt;network&lt;/b&gt; team&#x27;s module"),
        ("and/or", "Use instead: and/or<"),
    ],
)
def test_a_replacement_is_a_link_where_it_names_something(published, browser_of, alice, client, text, shown):
    published("pantry/vpc/aws", "1.2.0")
    url = PAGE.replace("acme", "pantry")
    browser_of(alice).post(f"{url}/lifecycle", {"act": "deprecate", "reason": "Old.", "replacement": text})

    page = pages.markup_of(client.get(url))
    assert "This version is deprecated" in page
    assert shown in page
    assert "alice" not in page, "who is not signed in reads no names"


def test_a_publisher_is_offered_the_deprecation_and_told_who_yanks(published, browser_of, alice, bob):
    published()
    browser = browser_of(alice)
    assert f'href="{URL}#deprecate"' in pages.markup_of(browser.get(PAGE))
    assert "Manage this version" not in pages.markup_of(browser_of(bob).get(PAGE))
    assert "You published this version, so you can yank it for 72 hours" in pages.markup_of(browser.get(URL))
    Release.objects.update(published_at=timezone.now() - timedelta(hours=72))

    assert "Only owners of acme can yank it" in pages.markup_of(browser.get(URL))
    assert send(browser, "yank").status_code == 403
    assert Release.objects.get().lifecycle == "maintained"


def test_a_missing_reason_is_said_beside_its_field_and_a_conflict_says_by_whom(published, browser_of, dora):
    published()
    browser = browser_of(dora)
    response = send(browser, "yank", reason=" ")
    assert response.status_code == 422
    page = pages.markup_of(response)
    assert 'href="#yank_reason"' in page
    assert page.count("This field is required.") == 2, "in the summary and beside the field, of one form only"

    send(browser, "yank")
    response = send(browser, "yank")
    assert response.status_code == 409
    assert "is yanked since" in pages.markup_of(response)
    assert "by dora: It loses data." in pages.markup_of(response)


def test_it_names_who_fetched_it_and_with_what(published, browser_of, dora, bob, charlie):
    release = published()
    today = timezone.now().date()
    Fetch.objects.create(release=release, user=bob, last_on=today, count=7)
    Fetch.objects.create(release=release, user=charlie, last_on=today - timedelta(days=40), count=2)
    for day, client, count in ((0, "OpenTofu 1.12.6", 9), (3, "OpenTofu 1.12.6", 3), (60, "Terraform 1.5.7", 5)):
        DownloadCount.objects.create(release=release, day=today - timedelta(days=day), client=client, count=count)
    page = pages.markup_of(browser_of(dora).get(URL))
    people = page.partition("data-people")[2].partition("</section>")[0]
    clients = page.partition("data-clients")[2].partition("</section>")[0]

    assert "bob" in people
    assert "7 times" in people
    assert "charlie" not in people
    assert "8 downloads came without a token" in people
    assert "12 downloads" in clients
    assert "OpenTofu 1.12.6" in clients
    assert "Terraform 1.5.7" not in clients


def test_it_names_the_modules_here_that_would_be_hit(published, browser_of, dora):
    for version in ("1.2.0", "1.3.0"):
        published(version=version)
    for name, constraint in (("pinned", "1.2.0"), ("ranged", "~> 1.2"), ("other", ">= 1.3.0"), ("example", "1.2.0")):
        release = published(f"acme/{name}/aws", "1.0.0")
        row = ModuleVersion.objects.get(release=release)
        calls(row, constraint, unit="examples/complete" if name == "example" else "")
    hidden = published("hall/secret/aws", "1.0.0")
    calls(ModuleVersion.objects.get(release=hidden), "1.2.0")
    hidden.namespace.visibility = "private"
    hidden.namespace.save(update_fields=["visibility"])
    page = pages.markup_of(browser_of(dora).get(URL)).partition("data-callers")[2].partition("<form")[0]

    assert "acme/pinned/aws" in page
    assert "acme/ranged/aws" in page
    assert page.index("acme/pinned/aws") < page.index("acme/ranged/aws"), "those that fail come first"
    assert "Fails" in page
    assert 'gets <span class="mono">1.3.0</span>' in page
    for absent in ("acme/other/aws", "acme/example/aws", "hall/secret/aws"):
        assert absent not in page


def test_it_costs_the_same_with_many_callers(published, browser_of, dora):
    published()
    browser = browser_of(dora)
    costs = []
    for more in (1, 9):
        for _ in range(more):
            number = ModuleCall.objects.count()
            release = published(f"acme/m{number}/aws", "1.0.0")
            calls(ModuleVersion.objects.get(release=release), "1.2.0")
        costs.append(pages.queries_of(browser, URL))

    assert costs[0] == costs[1]


def test_a_quarantine_names_what_has_the_same_bytes_and_leaves_a_page_for_staff_alone(
    published, browser_of, olga, alice, dora
):
    one, twin = published(), published("pantry/copy/aws", "3.0.0")
    Release.objects.filter(pk=twin.pk).update(digest=one.digest)
    for url in (URL, f"{URL}/purge"):
        assert "pantry/copy/aws 3.0.0" in pages.markup_of(browser_of(olga).get(url))
    assert "pantry/copy/aws 3.0.0" not in pages.markup_of(browser_of(dora).get(URL))

    send(browser_of(olga), "quarantine", reason="Malware.")

    for user in (alice, dora):
        for url in (PAGE, URL, f"{PAGE}/archive"):
            assert browser_of(user).get(url).status_code == 404
    page = pages.markup_of(browser_of(olga).get(PAGE))
    assert "This version is quarantined" in page
    assert f'<a href="{URL}#restore">Lift the quarantine</a>' in page
    assert "Malware." in page
    assert browser_of(olga).get(f"{PAGE}/archive").status_code == 404, "no bytes, not even for staff"
    assert send(browser_of(olga), "restore").url == PAGE
    assert browser_of(alice).get(PAGE).status_code == 200


def test_purging_asks_for_the_whole_name_and_leads_to_the_tombstone(published, browser_of, olga):
    published(version="1.1.0")
    published()
    browser = browser_of(olga)
    wrong = browser.post(f"{URL}/purge", {"reason": "A key.", "confirm": "acme/vpc/aws"})
    assert wrong.status_code == 422
    assert "expected &#x27;acme/vpc/aws 1.2.0&#x27;" in pages.markup_of(wrong)
    assert Release.objects.filter(state="purged").count() == 0

    right = browser.post(f"{URL}/purge", {"reason": "A key.", "confirm": "acme/vpc/aws 1.2.0"})
    assert (right.status_code, right.url) == (303, "/modules/acme/vpc/aws/versions")
    gone = browser.get(PAGE)
    assert gone.status_code == 404
    assert "acme/vpc/aws 1.2.0 was removed on" in pages.markup_of(gone)
    assert browser.get(URL).status_code == 404
