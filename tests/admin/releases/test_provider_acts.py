"""The acts on providers' versions in the admin: each by a page that asks, or at once where a worker does it."""

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.jobs.models import Job
from apps.providers.models import ProviderVersion
from apps.releases.models import DownloadCount, Fetch, Release, ReleaseBlob, SearchDoc
from apps.signing.models import PrivateKey
from tests import pages
from tests.admin.lists import list_of, page_of
from tests.portal.providers.rows import provider_version, row_of_key

ACTS = ["deprecate", "yank", "quarantine", "restore", "purge"]
QUEUED = ["verify", "resign"]
REASON = "It loses records."


@pytest.fixture
def versions(acme, alice):
    key = row_of_key(acme, 1, custody="registry")
    return [provider_version(acme, "dns", number, key=key, user=alice) for number in ("1.0.0", "1.1.0")]


def ask(client, act, *chosen):
    form = {"action": act, "index": "0", "_selected_action": [row.pk for row in chosen]}
    return client.post(list_of(ProviderVersion), form)


def do(client, act, *chosen, **told):
    return client.post(ask(client, act, *chosen).headers["Location"], told, follow=True)


def shown(client, act, *chosen):
    """The portal's page, to which the action of the admin leads."""
    return client.get(ask(client, act, *chosen).headers["Location"])


def standing(version):
    release = Release.objects.get(version=version)
    return "quarantined" if release.quarantined_at else release.lifecycle


@pytest.mark.parametrize("act", ACTS)
def test_each_act_asks_first_and_goes_not_without_a_reason(operator_client, versions, act):
    if act == "restore":
        Release.objects.update(lifecycle="deprecated", lifecycle_at=timezone.now())
    before = standing("1.0.0")
    page = shown(operator_client, act, versions[0])
    assert page.status_code == 200
    assert 'name="reason"' in page.text
    assert "acme/dns 1.0.0" in page.text
    assert "Modules that call it" not in page.text

    page = do(operator_client, act, versions[0], reason=" ", confirm="acme/dns 1.0.0")
    assert page.context["form"].errors["reason"]
    assert standing("1.0.0") == before


def test_several_are_deprecated_and_restored(operator_client, versions, olga):
    assert "Deprecated: 2." in do(operator_client, "deprecate", *versions, reason=REASON, replacement="2.0.0").text
    assert [standing(one) for one in ("1.0.0", "1.1.0")] == ["deprecated"] * 2
    assert AuditEvent.objects.filter(kind="namespace:release:deprecated", actor_id=olga.pk).count() == 2
    do(operator_client, "restore", *versions, reason="Mended.")
    assert [standing(one) for one in ("1.0.0", "1.1.0")] == ["maintained"] * 2


def test_a_yank_and_a_quarantine_reach_clients(operator_client, versions, tofu, bob):
    do(operator_client, "yank", versions[1], reason=REASON)
    listed = tofu(bob).get("/v1/providers/acme/dns/versions").json()["versions"]
    assert [one["version"] for one in listed] == ["1.0.0"]
    assert SearchDoc.objects.get().version == "1.0.0"
    assert 'larder-badge-yanked">yanked' in operator_client.get(list_of(ProviderVersion)).text
    do(operator_client, "quarantine", versions[0], reason=REASON)
    assert tofu(bob).get("/v1/providers/acme/dns/versions").json()["versions"] == []


def test_the_page_says_whom_it_hits_and_where_else_the_bytes_are(operator_client, versions, bob, pantry):
    release, today = versions[0].release, timezone.now().date()
    DownloadCount.objects.create(release=release, day=today, client="OpenTofu 1.12.6", count=7)
    Fetch.objects.create(release=release, user=bob, last_on=today, count=7)
    twin = provider_version(pantry, "copy", "3.0.0", key=row_of_key(pantry, 2))
    shared = ReleaseBlob.objects.filter(release=release, name__endswith=".zip").earliest("pk")
    ReleaseBlob.objects.create(release=twin.release, digest=shared.digest, name="copy.zip")
    page = pages.markup_of(shown(operator_client, "quarantine", versions[0]))

    assert ">7</td>" in page
    assert ">bob</td>" in page
    assert "pantry/copy 3.0.0" in page


def test_a_purge_takes_exactly_one_and_its_typed_name(operator_client, versions):
    assert ask(operator_client, "purge", *versions).headers["Location"], "back to the list, which says why"
    page = do(operator_client, "purge", versions[0], reason=REASON, confirm="acme/dns 1.1.0")
    assert "expected" in page.context["form"].errors["confirm"][0]
    page = do(operator_client, "purge", versions[0], reason=REASON, confirm="acme/dns 1.0.0")

    assert "Purged: acme/dns 1.0.0." in page.text
    assert Release.objects.get(version="1.0.0").state == "purged"
    assert Job.objects.filter(kind="purge-blob", target=versions[0].release_id).exists()


def test_stored_bytes_are_verified_and_damage_is_loud(operator_client, versions, olga):
    assert "Queued: 2." in ask_and_follow(operator_client, "verify", *versions).text
    assert set(Job.objects.filter(kind="verify-provider").values_list("target", flat=True)) == {
        row.release_id for row in versions
    }
    assert "is being verified already" in ask_and_follow(operator_client, "verify", versions[0]).text
    finding = {"name": "dns.zip", "digest": "a" * 64, "outcome": "damaged", "found": "b" * 64}
    rows = Release.objects.filter(pk=versions[0].release_id)
    rows.update(verified_at=timezone.now(), verified_as="damaged", verified_findings=[finding])

    assert operator_client.get(list_of(ProviderVersion)).text.count("larder-badge-damaged") == 1
    assert operator_client.get(list_of(ProviderVersion, verified="unsound")).context["cl"].result_count == 1
    assert f"dns.zip is damaged: {'b' * 64}" in operator_client.get(page_of(versions[0])).text
    assert "not since it was published" in operator_client.get(page_of(versions[1])).text


def ask_and_follow(client, act, *chosen):
    form = {"action": act, "index": "0", "_selected_action": [row.pk for row in chosen]}
    return client.post(list_of(ProviderVersion), form, follow=True)


def test_versions_are_signed_anew_or_it_says_why_not(operator_client, versions, acme):
    assert "acme has no active key in this registry" in ask_and_follow(operator_client, "resign", versions[0]).text
    newer = row_of_key(acme, 2, custody="registry")
    PrivateKey.objects.create(key=newer, nonce=b"n", ciphertext=b"c", kek_id="k")
    theirs = provider_version(acme, "mail", "1.0.0", key=row_of_key(acme, 3))
    page = ask_and_follow(operator_client, "resign", *versions, theirs).text

    assert "Queued: 2." in page
    assert "acme/mail 1.0.0 is signed by its publisher" in page
    assert Job.objects.filter(kind="resign-provider").count() == 2


@pytest.mark.parametrize("act", [*ACTS, *QUEUED])
def test_each_act_has_its_own_permission(browser_of, bob, versions, act):
    bob.is_staff = True
    bob.save()
    bob.user_permissions.add(Permission.objects.get(codename="view_providerversion"))
    assert f'value="{act}"' not in browser_of(bob).get(list_of(ProviderVersion)).text
    do(browser_of(bob), act, versions[0], reason=REASON, confirm="acme/dns 1.0.0")
    assert standing("1.0.0") == "maintained"
    assert not Job.objects.exists()

    model = "providerversion" if act == "resign" else "release"
    bob.user_permissions.add(Permission.objects.get(codename=f"{act}_{model}"))
    page = browser_of(bob).get(list_of(ProviderVersion)).text
    assert [one for one in [*ACTS, *QUEUED] if f'value="{one}"' in page] == [act]


def test_a_page_of_twenty_costs_as_much_as_one_of_two(operator_client, versions, acme, alice):
    costs = []
    for numbers in ((), range(2, 20)):
        for number in numbers:
            provider_version(acme, "dns", f"1.{number}.0", key=versions[0].key, user=alice)
        costs.append(pages.queries_of(operator_client, list_of(ProviderVersion)))

    assert costs[0] == costs[1] <= 12
