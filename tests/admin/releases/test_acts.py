"""Deprecate, yank, quarantine, restore and purge: each leads to the portal's page, which returns to the admin."""

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.modules.models import ModuleVersion
from apps.releases.models import DownloadCount, Fetch, Release, SearchDoc
from tests import pages
from tests.admin.lists import ask, chosen, list_of
from tests.portal.rows import add_module
from tests.rows import for_each_row

SEVERAL = ["deprecate", "yank", "quarantine", "restore"]
ACTS = [*SEVERAL, "purge"]
REASON = "It deletes the volume."


@pytest.fixture
def versions(published):
    for version in ("1.0.0", "1.1.0", "1.2.0"):
        published("acme/vpc/aws", version)
    return list(ModuleVersion.objects.select_related("release__namespace").order_by("release__sort_key"))


def do(client, act, *rows, **told):
    return client.post(ask(client, act, *rows).headers["Location"], told, follow=True)


def shown(client, act, *rows):
    """The portal's page, to which the action of the admin leads."""
    return client.get(ask(client, act, *rows).headers["Location"])


def standing(version):
    release = Release.objects.get(version=version)
    return "quarantined" if release.quarantined_at else release.lifecycle


@for_each_row("act", ACTS)
def test_each_act_asks_first_and_goes_with_a_reason_only(operator_client, versions, act):
    if act == "restore":
        Release.objects.update(lifecycle="deprecated", lifecycle_at=timezone.now())
    before = standing("1.0.0")
    page = shown(operator_client, act, versions[0])
    assert page.status_code == 200
    assert 'name="reason"' in page.text
    assert "acme/vpc/aws 1.0.0" in page.text

    page = do(operator_client, act, versions[0], reason="  ", confirm="acme/vpc/aws 1.0.0")
    assert page.context["form"].errors["reason"]
    assert standing("1.0.0") == before
    assert ModuleVersion.objects.count() == 3


def test_several_versions_are_deprecated_with_a_replacement(operator_client, versions, olga):
    page = do(operator_client, "deprecate", *versions[:2], reason=REASON, replacement="1.2.0")

    assert "Deprecated: 2." in page.text
    found = Release.objects.filter(lifecycle="deprecated").order_by("sort_key")
    assert [(row.version, row.lifecycle_reason, row.lifecycle_replacement) for row in found] == [
        ("1.0.0", REASON, "1.2.0"),
        ("1.1.0", REASON, "1.2.0"),
    ]
    assert AuditEvent.objects.filter(kind__endswith=":deprecated", actor_id=olga.pk).count() == 2


def test_a_refusal_is_shown_at_its_row_and_the_others_go_on(operator_client, versions):
    do(operator_client, "yank", versions[0], reason=REASON)
    before = shown(operator_client, "yank", *versions[:2])
    assert before.text.count("data-obstacle") == 1
    assert "acme/vpc/aws 1.0.0 is yanked since" in before.text
    assert "Yank 1 version" in pages.markup_of(before)
    page = do(operator_client, "yank", *versions[:2], reason="Another one.")

    assert "acme/vpc/aws 1.0.0 is yanked since" in page.text
    assert "Yanked: 1." in page.text
    assert standing("1.1.0") == "yanked"


def test_the_page_says_whom_a_yank_hits(operator_client, versions, bob):
    DownloadCount.objects.create(
        release=versions[0].release, day=timezone.now().date(), client="OpenTofu 1.12.6", count=7
    )
    Fetch.objects.create(release=versions[0].release, user=bob, last_on=timezone.now().date(), count=7)
    page = shown(operator_client, "yank", versions[0])

    assert '<strong class="figure">7</strong> <span>downloads in 30 days</span>' in pages.markup_of(page)
    assert "bob" in pages.markup_of(page).partition('data-hit="account"')[2].partition("</table>")[0]
    assert "button--danger" not in shown(operator_client, "deprecate", versions[0]).text


def test_a_purge_takes_exactly_one_and_its_typed_name(operator_client, versions):
    page = ask(operator_client, "purge", *versions[:2]).headers
    assert page["Location"], "back to the list, which says why"

    page = do(operator_client, "purge", versions[0], reason=REASON, confirm="acme/vpc/aws 1.1.0")
    assert "expected" in page.context["form"].errors["confirm"][0]
    assert page.context["form"]["reason"].value() == REASON
    assert ModuleVersion.objects.count() == 3

    page = do(operator_client, "purge", versions[0], reason=REASON, confirm="acme/vpc/aws 1.0.0")
    assert page.redirect_chain[-1][0] == list_of(ModuleVersion)
    assert "Purged: acme/vpc/aws 1.0.0." in page.text
    assert ModuleVersion.objects.count() == 2
    assert Release.objects.get(version="1.0.0").state == "purged"
    assert Job.objects.filter(kind="purge-blob", target=versions[0].release_id).exists()


def test_it_returns_to_the_list_it_came_from_and_to_no_other_site(operator_client, versions):
    url = list_of(ModuleVersion, q="acme/vpc")
    asked = operator_client.post(url, chosen("yank", versions[0])).headers["Location"]
    assert operator_client.post(asked, {"reason": REASON}).headers["Location"] == url
    several = reverse("portal:lifecycle-several", args=["restore", versions[0].release_id])
    for foreign in ("https://evil.example/", "//evil.example/", "javascript:a()"):
        answer = operator_client.get(several, {"next": foreign})
        assert "evil.example" not in answer.context["back"]
        assert "javascript" not in answer.context["back"]


def test_a_page_of_versions_names_people_of_the_first_twenty_alone(operator_client, acme):
    costs = []
    for count in (22, 60):
        add_module(acme, f"many{count}/aws", *(f"1.{minor}.0" for minor in range(count)))
        keys = Release.objects.filter(name=f"many{count}/aws").values_list("pk", flat=True)
        url = reverse("portal:lifecycle-several", args=["yank", ",".join(map(str, keys))])
        assert len(operator_client.get(url).context["rows"]) == count
        costs.append(pages.queries_of(operator_client, url))
    assert costs[0] == costs[1]


def test_versions_are_inspected_again_and_their_pages_say_what_storage_holds(operator_client, versions, stored_files):
    assert ask(operator_client, "reinspect", *versions, select_across="0").status_code == 302
    targets = Job.objects.filter(kind="inspect-module").values_list("target", flat=True)
    assert set(targets) == {row.pk for row in versions}

    url = list_of(ModuleVersion) + f"{versions[0].pk}/change/"
    assert f"yes, {versions[0].release.size:,} bytes" in operator_client.get(url).text


def test_a_search_document_is_rebuilt(operator_client, versions):
    SearchDoc.objects.update(version="0.0.1", description="stale")
    ask(operator_client, "rebuild", SearchDoc.objects.get())

    assert SearchDoc.objects.get().version == "1.2.0"


@for_each_row("act", SEVERAL)
def test_versions_that_the_list_no_longer_has_are_told_of(versions, operator_client, act):
    """Another operator was faster, or the filter of a list that was open leaves them out now."""
    url = list_of(ModuleVersion, q="no-such-module")

    answer = operator_client.post(url, chosen(act, versions[0]), follow=True)
    assert "The selected versions are no longer in this list." in answer.text
