"""Archives that the front answers itself: as Django would, to whom Django would, and for no longer."""

import itertools
import os
import time
from datetime import UTC, datetime, timedelta

import pytest

from apps.accounts import namespaces
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Visibility
from apps.blobs import capabilities
from apps.blobs.care.integrity import known
from apps.blobs.care.verified_files import verified_files
from apps.protocol.last_public import last_public
from apps.protocol.locations import location_of
from apps.providers.models import ProviderVersion
from apps.releases.lifecycle import purging, verbs
from registry_site.front.archives import SMALL_BYTES
from registry_site.server.connections import PATHSEND
from tests.builders.archives import module_zip
from tests.providers.conftest import draft_client, registered
from tests.providers.draft_client import dist, signed
from tests.site.front.asking import as_django_says

__all__ = ["draft_client", "registered"]
pytestmark = pytest.mark.usefixtures("shelf")


def link_to(release) -> str:
    return location_of(release, now=datetime.now(tz=UTC)).partition("?")[0]


def plain(release) -> str:
    return f"/archives/{release.digest}/vpc-aws-1.2.0.zip"


def warmed(process, client, *urls):
    """The front knows Django's answers of these kinds, and has repeated one of each."""
    for url in urls:
        assert [process.ask(client, url).status for _ in range(2)] == [200, 200], url


@pytest.mark.both
def test_an_archive_that_was_never_asked_for_needs_no_django(process, published, tofu):
    first, other = published("pantry/vpc/aws", "1.2.0"), published("pantry/vpc/aws", "1.3.0")
    client = tofu(None)
    assert not process.ask(client, plain(first)).was_ready, "it shows how Django answers"

    for _ in range(2):
        said = process.ask(client, plain(other))
        assert said.was_ready
        assert said.body == process.ask(client, plain(other), "GET", Range="bytes=0-").body
    as_django_says(process, client, plain(other))


RANGES = (
    "bytes=0-0",
    "bytes=5-9",
    "bytes=-7",
    "bytes=3-",
    "bytes=2-999999",
    "bytes=999999-",
    "bytes=9-5",
    "bytes=1-2,4-5",
)


@pytest.mark.parametrize("who", [None, *(pytest.param(who, marks=pytest.mark.slow) for who in ("bob", "charlie"))])
def test_every_kind_of_question_is_answered_as_django_answers_it(request, process, published, tofu, who):
    private, public = published("acme/vpc/aws", "1.2.1"), published("pantry/vpc/aws")
    client = tofu(who and request.getfixturevalue(who))
    right = [link_to(private), plain(private), plain(public), link_to(public)]
    wrong = [
        link_to(private).replace("/archives/", "/archives/x", 1),
        f"/archives/{'0' * 64}/a.zip",
        f"{plain(public)}?archive=zip",
        plain(public).replace(".zip", ".tgz"),
        plain(public).replace(public.digest, public.digest.upper()),
    ]
    warmed(process, tofu(None), link_to(private), plain(public))
    usual: list[tuple[str, dict[str, str]]] = [("GET", {}), ("HEAD", {})]
    asked = [*usual, *(("GET", {"Range": wanted}) for wanted in RANGES)]
    asked += [
        ("GET", {"Accept-Encoding": "br, gzip"}),
        ("GET", {"If-None-Match": "*"}),
        ("HEAD", {"Range": "bytes=1-2"}),
    ]
    asked += [("GET", {"Range": "bytes=1-2", "If-Range": f'"{public.digest}"'})]
    for url, (method, headers) in (*itertools.product(right, asked), *itertools.product(wrong, usual)):
        for _ in range(2):
            as_django_says(process, client, url, method, **headers)


def test_the_parts_of_a_provider_are_answered_in_the_same_way(process, draft_client, registered, tofu, bob):
    draft_client.publish(signed(dist()))
    document = ProviderVersion.objects.get()
    urls = [
        f"/archives/{capabilities.sign(digest=blob.digest, file_name=blob.name, now=datetime.now(tz=UTC))}"
        f"/{blob.digest}/{blob.name}"
        for blob in document.release.blobs.all()
        if not blob.name.endswith(".json")
    ]
    assert len(urls) == 4, "two packages, the sums and their signature"
    for url in urls:
        warmed(process, tofu(None), url)
        assert process.ask(tofu(None), url, "HEAD").was_ready
        as_django_says(process, tofu(None), url)


def test_another_host_or_scheme_is_asked_of_django_first(process, published, tofu):
    release = published("pantry/vpc/aws")
    warmed(process, tofu(None), plain(release))

    said = process.ask(tofu(None), plain(release), "GET", Host="elsewhere.example")
    assert (said.status, said.was_ready) == (400, False)
    process.offers = {"scheme": "https"}
    assert not process.ask(tofu(None), plain(release)).was_ready
    process.offers = {}
    assert process.ask(tofu(None), plain(release)).was_ready


CHANGES = {
    "quarantine": lambda it: verbs.quarantine(release=it["release"], actor=it["olga"], reason="malware"),
    "quarantine of the same bytes elsewhere": lambda it: verbs.quarantine(
        release=it["other"], actor=it["olga"], reason="malware"
    ),
    "purge": lambda it: purging.purge(release=it["release"], actor=it["olga"], reason="a secret"),
    "visibility": lambda it: namespaces.change(
        namespace=it["release"].namespace, visibility=Visibility.PRIVATE, description="", actor=it["olga"]
    ),
}


@pytest.mark.parametrize("change", sorted(CHANGES))
@pytest.mark.parametrize("kind", ["plain", "capability"])
def test_a_change_ends_what_was_ready(process, published, tofu, olga, change, kind):
    release = published("pantry/vpc/aws" if kind == "plain" else "acme/vpc/aws")
    other = published("hall/vpc/aws")
    assert other.digest == release.digest
    url = plain(release) if kind == "plain" else link_to(release)
    warmed(process, tofu(None), url)
    assert process.ask(tofu(None), url).was_ready

    CHANGES[change]({"release": release, "other": other, "olga": Viewer(olga)})
    process.learn()

    said = as_django_says(process, tofu(None), url)
    if "quarantine" in change or kind == "plain":
        assert said.status in (401, 404)


def test_a_link_opens_nothing_after_its_end(process, published, tofu, monkeypatch):
    release = published("acme/vpc/aws")
    url = link_to(release)
    warmed(process, tofu(None), url)
    later = datetime.now(tz=UTC) + timedelta(hours=3)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    process.front.table = type(process.front.table)(process.front.changes, most_bytes=1_000_000)

    said = process.ask(tofu(None), url)
    assert (said.status, said.was_ready) == (403, False)


@pytest.mark.both
def test_a_newer_link_to_the_same_bytes_asks_nobody(process, published, tofu, olga):
    release = published("acme/vpc/aws")
    first, name = link_to(release), link_to(release).rpartition("/")[2]
    warmed(process, tofu(None), first)
    assert process.ask(tofu(None), first).was_ready
    misses = process.front.misses

    later = datetime.now(tz=UTC) + capabilities.ROUND
    newer = f"/archives/{capabilities.sign(digest=release.digest, file_name=name, now=later)}/{release.digest}/{name}"
    assert newer != first
    said = process.ask(tofu(None), newer)
    assert said.was_ready
    assert process.front.misses == misses, "neither the database nor the disk was asked"
    assert (said.headers, said.body) == ((again := process.ask(tofu(None), first)).headers, again.body)
    forged = newer.replace("/archives/", "/archives/x")
    assert process.ask(tofu(None), forged).status == 403

    verbs.quarantine(release=release, actor=Viewer(olga), reason="malware")
    process.learn()
    newest = capabilities.sign(digest=release.digest, file_name=name, now=later + capabilities.ROUND)
    assert process.ask(tofu(None), f"/archives/{newest}/{release.digest}/{name}").status == 404


def shortly_before_its_end(url, monkeypatch):
    now = datetime.now(tz=UTC)
    _, _, segment, digest, name = url.split("/")
    left = capabilities.seconds_left(segment, digest=digest, file_name=name, now=now)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now + timedelta(seconds=left - 10))


def rest(process, url):
    """For how many seconds its answer is ready."""
    (until,) = [entry.until for key, entry in process.front.table._entries.items() if key[2] == url]
    return until - time.monotonic()


def test_a_link_that_ends_soon_is_not_ready_for_longer(process, published, tofu, monkeypatch):
    url = link_to(published("acme/vpc/aws"))
    shortly_before_its_end(url, monkeypatch)
    warmed(process, tofu(None), url)

    assert rest(process, url) <= 10


def test_a_newer_link_is_ready_no_longer_than_it_lasts(process, published, tofu, monkeypatch):
    release = published("acme/vpc/aws")
    first, name = link_to(release), link_to(release).rpartition("/")[2]
    warmed(process, tofu(None), first)
    assert process.ask(tofu(None), first).was_ready
    before = datetime.now(tz=UTC) - capabilities.ROUND
    url = f"/archives/{capabilities.sign(digest=release.digest, file_name=name, now=before)}/{release.digest}/{name}"
    shortly_before_its_end(url, monkeypatch)
    assert process.ask(tofu(None), url).was_ready

    assert rest(process, url) <= 10


def test_damaged_and_changed_bytes_are_never_sent(process, published, tofu, settings):
    damaged, changed = published("pantry/vpc/aws", "1.1.0"), published("pantry/vpc/aws")
    warmed(process, tofu(None), plain(published("pantry/vpc/aws", "1.3.0")))
    known.record_damage(damaged.digest)
    path = settings.DATA_DIR / "blobs" / "sha256" / changed.digest[:2] / changed.digest
    path.chmod(0o600)
    path.write_bytes(path.read_bytes()[:-1] + b"!")

    for release in (damaged, changed, changed):
        said = process.ask(tofu(None), plain(release))
        assert (said.status, said.was_ready) == (503, False)


def test_a_large_file_leaves_as_a_file_once_it_was_checked(process, published, tofu, monkeypatch):
    data = module_zip({"main.tf": b"", "noise": os.urandom(SMALL_BYTES)})
    large = published("pantry/vpc/aws", "1.4.0", data=data)
    url = plain(large)
    warmed(process, tofu(None), plain(published("pantry/vpc/aws", "1.3.0")))
    process.offers = {"extensions": {PATHSEND: {}}}
    monkeypatch.setattr(verified_files, "_found", {})  # as in another process than the worker

    assert not process.ask(tofu(None), url).was_ready, "nobody has hashed it"
    assert as_django_says(process, tofu(None), url).was_ready
    process.offers |= {"http_version": "2"}
    assert not process.ask(tofu(None), url).was_ready
    process.offers = {}
    assert not process.ask(tofu(None), url).was_ready, "this server has not offered it"
    assert process.ask(tofu(None), url, "HEAD").was_ready
    assert not any(
        len(entry.whole.body) for entry in process.front.table._entries.values() if entry.whole.size > 60_000
    )


def test_what_the_front_served_as_public_goes_on_while_the_database_is_away(process, published, tofu):
    one, other = published("pantry/vpc/aws"), published("pantry/vpc/aws", "1.3.0")
    warmed(process, tofu(None), plain(one))
    assert other.digest not in last_public
    assert process.ask(tofu(None), plain(other)).was_ready
    assert other.digest in last_public
