"""A process repeats nothing that is older than a change: it asks for changes before each answer (D16)."""

import time
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from django.utils import timezone

from apps.accounts import erasure, namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Membership, Role, Visibility
from apps.accounts.people import accounts, teams
from apps.blobs import capabilities
from apps.http.ready import LONGEST
from apps.modules.catalogue import entries
from apps.modules.models import Module
from apps.releases.catalogue import downloads
from apps.releases.lifecycle import verbs
from apps.releases.models import DownloadCount, Lifecycle, Release
from apps.signing import keys
from registry_site.front import table
from registry_site.front.table import may_tell
from tests.cast import person
from tests.providers.conftest import draft_client, registered
from tests.providers.draft_client import dist, signed
from tests.rows import for_each_row
from tests.site.front.asking import as_django_says

__all__ = ["draft_client", "registered"]
pytestmark = pytest.mark.usefixtures("shelf")

PUBLIC, OTHER = "/v1/modules/pantry/vpc/aws/versions", "/v1/modules/hall/vpc/aws/versions"
LIST = "/v1/modules/search?q=vpc"
DOWNLOAD = "/v1/modules/acme/vpc/aws/1.2.0/download"
SOON = LONGEST / 4  # seconds, and enough for one question on a busy machine


def ready(process, client, *urls):
    """Ask until each is ready, beginning with what is known now."""
    process.learn()
    for url in urls:
        assert process.ask(client, url).status == 200
        assert process.ask(client, url).was_ready, url


def teamed(acme, charlie, dora):
    team = teams.create(name="cooks", actor=Viewer(dora))
    namespaces.grant(namespace=acme, grantee=team, role=Role.READER, actor=Viewer(dora))
    return teams.add(team=team, user=charlie, actor=Viewer(dora))


# What is done in acme, and the status that Bob then reads `versions` with.
IN_ACME = {
    "publish": (lambda it: it["published"]("acme/vpc/aws", "1.3.0"), 200),
    "deprecate": (lambda it: verbs.deprecate(release=it["release"], actor=it["dora"], reason="old"), 200),
    "yank": (lambda it: verbs.yank(release=it["release"], actor=it["dora"], reason="broken"), 200),
    "quarantine": (lambda it: verbs.quarantine(release=it["release"], actor=it["olga"], reason="malware"), 404),
    "withdraw": (lambda it: namespaces.withdraw(grant=it["grant"], actor=it["dora"]), 404),
    "revoke": (lambda it: tokens.revoke(token=it["token"], actor=it["dora"]), 401),
    "deactivate": (
        lambda it: accounts.change(
            user=it["bob"], actor=it["olga"], is_active=False, is_staff=False, is_superuser=False
        ),
        401,
    ),
    "erase": (lambda it: erasure.erase(user=it["bob"], actor=it["olga"]), 401),
    "describe": (
        lambda it: entries.describe(
            module=Module.objects.get(namespace=it["acme"]), actor=it["dora"], source_url="https://git.example/vpc"
        ),
        200,
    ),
    "visibility": (
        lambda it: namespaces.change(
            namespace=it["acme"], visibility=Visibility.INTERNAL, description="", actor=it["dora"]
        ),
        200,
    ),
}


@pytest.mark.parametrize("verb", sorted(IN_ACME))  # what a process knows goes from row to row
def test_each_change_ends_what_was_ready_and_no_more(process, published, tofu, acme, bob, dora, olga, charlie, verb):
    release, _ = published("acme/vpc/aws", "1.2.0"), published("pantry/vpc/aws", "1.2.0")
    reads, nobody = tofu(bob), tofu(None)
    url = "/v1/modules/acme/vpc/aws/versions"
    ready(process, reads, url, DOWNLOAD, LIST)
    ready(process, nobody, PUBLIC, LIST)
    change, status = IN_ACME[verb]
    things = {"published": published, "release": release, "acme": acme, "bob": bob, "dora": Viewer(dora)}
    things |= {"olga": Viewer(olga), "grant": Grant.objects.get(user=bob), "token": ApiToken.objects.get(user=bob)}

    change(things)
    process.learn()

    assert process.ask(reads, url).status == status
    for who, asked in ((reads, url), (reads, DOWNLOAD), (reads, LIST), (nobody, url), (nobody, LIST)):
        as_django_says(process, who, asked)
    # Quarantine is about bytes, which may be elsewhere as well.
    assert process.ask(nobody, PUBLIC).was_ready == (verb != "quarantine")


@pytest.mark.both
def test_a_published_version_ends_its_own_documents_and_the_lists_and_no_other_module(process, published, tofu, bob):
    published("acme/vpc/aws", "1.2.0")
    reads, versions = tofu(bob), "/v1/modules/acme/vpc/aws/versions"
    listed = ("/v1/modules/acme", "/v2/acme/vpc/aws/tags/list", "/api/v1/modules?namespace=acme", LIST)
    ready(process, reads, versions, DOWNLOAD, *listed)

    published("acme/dns/aws", "1.0.0")
    process.learn()

    for url in (versions, DOWNLOAD):
        assert process.ask(reads, url).was_ready, url
    for url in listed:
        assert not process.ask(reads, url).was_ready, url


def test_a_revoked_key_is_left_out_at_once_of_what_was_ready(process, draft_client, registered, tofu, bob, dora):
    draft_client.publish(signed(dist()))
    reads, url = tofu(bob), "/v1/providers/acme/dns/1.2.0/download/linux/amd64"
    ready(process, reads, url)
    assert registered.fingerprint[-16:].encode() in process.ask(reads, url).body

    keys.revoke(key=registered, actor=Viewer(dora), reason="It leaked.")
    process.learn()

    said = as_django_says(process, reads, url)
    assert (said.status, said.was_ready) == (200, False)
    assert registered.fingerprint[-16:].encode() not in said.body


def test_a_public_namespace_that_is_hidden_is_hidden_from_everybody_at_once(process, published, tofu, pantry, olga):
    published("pantry/vpc/aws", "1.2.0")
    ready(process, tofu(None), PUBLIC)

    namespaces.change(namespace=pantry, visibility=Visibility.PRIVATE, description="", actor=Viewer(olga))
    process.learn()

    assert process.ask(tofu(None), PUBLIC).status == 401


@pytest.mark.parametrize("loss", ["leaves a team", "team deleted", "hands the namespace on", "no longer staff"])
def test_who_loses_the_right_to_read_reads_nothing_more(process, published, tofu, acme, charlie, dora, olga, loss):
    published("acme/vpc/aws", "1.2.0")
    membership, sam = teamed(acme, charlie, dora), person("sam", is_staff=True)
    owner, operator = Grant.objects.get(user=dora), Viewer(olga)
    who, lose = {
        "leaves a team": (charlie, lambda: teams.remove(membership=membership, actor=Viewer(dora))),
        "team deleted": (charlie, lambda: teams.delete(team=membership.team, actor=Viewer(dora))),
        "hands the namespace on": (
            dora,
            lambda: namespaces.transfer(namespace=acme, to=charlie, actor=Viewer(dora), giver=owner),
        ),
        "no longer staff": (
            sam,
            lambda: accounts.change(user=sam, actor=operator, is_active=True, is_staff=False, is_superuser=False),
        ),
    }[loss]
    if loss == "hands the namespace on":
        teams.remove(membership=Membership.objects.get(user=dora), actor=operator)
    reads = tofu(who)
    ready(process, reads, DOWNLOAD)

    lose()
    process.learn()

    assert process.ask(reads, DOWNLOAD).status == 404


def test_a_row_that_is_changed_behind_the_verbs_shows_within_a_minute(process, published, tofu, monkeypatch):
    release = published("pantry/vpc/aws", "1.2.0")
    ready(process, tofu(None), PUBLIC)
    Release.objects.filter(pk=release.pk).update(lifecycle=Lifecycle.YANKED)
    process.learn()
    assert process.ask(tofu(None), PUBLIC).was_ready, "no verb has bumped the generation: else this shows nothing"

    monkeypatch.setattr(table, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + LONGEST))

    assert b"1.2.0" not in process.ask(tofu(None), PUBLIC).body


def test_what_changes_nothing_for_readers_ends_nothing(process, published, tofu, bob, charlie):
    published("pantry/vpc/aws", "1.2.0")
    ready(process, tofu(None), PUBLIC, LIST)

    tokens.issue(user=bob, label="another", scope="read", actor=Viewer(bob))
    assert tofu(charlie).put("/api/v1/modules/pantry/vpc/aws/9.9.9", b"x", "application/zip").status_code == 403
    process.learn()

    assert process.ask(tofu(None), PUBLIC).was_ready
    assert process.ask(tofu(None), LIST).was_ready


@for_each_row(
    ("method", "path", "held_back"),
    [
        ("GET", "/api/v1/releases/1", True),  # how a publisher learns what a worker did
        ("GET", "/", True),
        ("PUT", "/v2/acme/vpc/aws/manifests/1.0.0", True),
        ("PUT", "/uploads/ticket", True),
        ("GET", "/v2/acme/vpc/aws/manifests/1.0.0", False),
        ("PUT", "/v2/acme/vpc/aws/blobs/uploads/1", False),
        ("GET", "/v1/modules/acme/vpc/aws/versions", False),
        ("GET", "/archives/a/b.zip", False),
    ],
)
def test_whatever_may_tell_of_a_change_is_held_back(method, path, held_back):
    assert may_tell(method, path) is held_back


@pytest.mark.both
def test_another_database_ends_everything(process, published, tofu):
    """A restored backup has lower numbers, which then count up again."""
    for version in ("1.1.0", "1.2.0"):
        published("pantry/vpc/aws", version)
    ready(process, tofu(None), PUBLIC)

    with process.connection.cursor() as cursor:
        cursor.execute("UPDATE audit_generation SET number = 1")
    process.learn()

    assert not process.ask(tofu(None), PUBLIC).was_ready


def test_while_the_database_is_away_nothing_is_repeated(process, published, tofu, monkeypatch):
    published("pantry/vpc/aws", "1.2.0")
    ready(process, tofu(None), PUBLIC)

    def away(since):
        raise OperationalError("The database is away.")

    monkeypatch.setattr(process.front.changes, "_connection", None)
    monkeypatch.setattr(process.front.changes, "_read", away)
    assert not process.ask(tofu(None), PUBLIC).was_ready


def test_nothing_outlives_the_token_or_the_links_in_it(process, published, tofu, bob, monkeypatch):
    published("acme/vpc/aws", "1.2.0")
    reads = tofu(bob)
    ready(process, reads, DOWNLOAD)
    entry = next(iter(process.front.table._entries.values()))
    now = timezone.now()
    assert entry.until - process.loop.time() <= LONGEST
    assert timedelta(0) < capabilities.same_until(now) - now <= capabilities.ROUND

    ApiToken.objects.filter(user=bob).update(expires_at=timezone.now() + timedelta(seconds=SOON))
    later = "/v1/modules/acme/vpc/aws/versions"
    process.ask(reads, later)
    newest = next(reversed(process.front.table._entries.values()))
    assert newest.until - process.loop.time() <= SOON


@pytest.mark.both
def test_each_repeated_download_counts_for_the_client_that_asked(process, published, tofu, bob):
    downloads.flush()
    DownloadCount.objects.all().delete()  # of other tests, whose releases had the same numbers
    release, reads = published("acme/vpc/aws", "1.2.0"), tofu(bob)
    process.learn()
    for agent in ("OpenTofu/1.8.0", "OpenTofu/1.8.0", "Terraform/1.9.2"):
        process.ask(reads, DOWNLOAD, **{"User-Agent": agent})
    process.ask(reads, DOWNLOAD, "HEAD")
    downloads.flush()

    rows = DownloadCount.objects.filter(release=release).values_list("client", "count")
    assert dict(rows) == {"OpenTofu 1.8.0": 2, "Terraform 1.9.2": 1}
