"""PUT …/docs: another documentation for a published version, read by a worker; what is refused changes nothing."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.audit.models import AuditEvent
from apps.blobs import store
from apps.jobs.models import Job
from apps.providers.docs import replacing
from apps.providers.models import DocsArchive
from apps.providers.tasks import read_provider_docs
from apps.releases.models import Release
from tests.builders import docs
from tests.builders.keys import signing_key
from tests.protocol.providers import cast as shelf

URL = "/api/v1/providers/acme/dns/1.2.0/docs"


@pytest.fixture
def dns(acme):
    key = shelf.add_key(acme, signing_key("ed25519"))
    return shelf.add_version(key, None, "dns", "1.2.0")


@pytest.fixture
def alices(tofu, alice):
    return tofu(alice)


def put(client, data):
    answer = client.generic("PUT", URL, data, content_type="application/zip")
    return answer.status_code, json.loads(answer.content)


def work():
    for job in Job.objects.filter(kind=replacing.JOB, state="queued").order_by("pk"):
        read_provider_docs(job_id=job.pk)


def shown(client):
    return json.loads(client.get(URL).content)


def test_an_archive_is_received_read_and_shown(alices, dns):
    status, document = put(alices, docs.archive())
    assert (status, document["state"]) == (202, "received")
    assert shown(alices)["pages"] == []
    work()

    document = shown(alices)
    assert len(document["pages"]) == 7
    assert [one["state"] for one in document["archives"]] == ["shown"]
    kinds = AuditEvent.objects.filter(subject="acme/dns 1.2.0").order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == ["namespace:provider:docs-received", "namespace:provider:docs-read"]


@pytest.mark.both
def test_another_takes_its_place_and_its_bytes_go(alices, dns):
    put(alices, docs.archive())
    work()
    first = DocsArchive.objects.get()
    assert put(alices, docs.archive({"docs/index.md": "# New"}))[0] == 202
    work()

    document = shown(alices)
    assert [page["kind"] for page in document["pages"]] == ["overview"]
    assert [one["state"] for one in document["archives"]] == ["shown", "replaced"]
    assert store.size_of(first.digest) is None
    assert not dns.release.blobs.filter(digest=first.digest).exists()
    assert store.size_of(DocsArchive.objects.get(state="shown").digest)


def test_bytes_that_another_version_shows_stay(alices, dns):
    other = shelf.add_version(dns.key, None, "dns", "1.3.0")
    put(alices, docs.archive())
    alices.generic("PUT", URL.replace("1.2.0", "1.3.0"), docs.archive())
    work()
    put(alices, docs.archive({"docs/index.md": "# New"}))
    work()
    assert store.size_of(other.docs_archives.get().digest)


def test_a_package_that_was_sent_as_documentation_stays_a_package(alices, dns):
    """Sending the wrong file takes no bytes from clients."""
    package = dns.packages.first()
    data = docs.archive()
    digest = shelf.keep(data)
    type(package).objects.filter(pk=package.pk).update(digest=digest)
    put(alices, data)
    work()
    put(alices, docs.archive({"docs/index.md": "# New"}))
    work()
    assert store.size_of(digest)


def test_the_same_bytes_again_are_there_already_and_others_wait_while_they_are_read(alices, dns):
    assert put(alices, docs.archive())[0] == 202
    assert put(alices, docs.archive())[0] == 200
    status, document = put(alices, docs.archive({"docs/index.md": "# New"}))
    assert status == 409
    assert "being processed" in json.dumps(document)
    work()
    assert put(alices, docs.archive())[0] == 200
    assert DocsArchive.objects.count() == 1


def test_what_is_refused_leaves_the_pages_as_they_are(alices, dns):
    put(alices, docs.archive())
    work()
    assert put(alices, docs.archive({"README.md": "x"}))[0] == 202
    work()

    document = shown(alices)
    assert len(document["pages"]) == 7
    assert [one["state"] for one in document["archives"]] == ["refused", "shown"]
    assert [reason["code"] for reason in document["archives"][0]["reasons"]] == ["docs_none"]


def test_a_body_that_is_too_large_or_empty_or_a_form_is_refused_at_once(alices, dns, settings):
    form = alices.put(URL, docs.archive(), content_type="multipart/form-data; boundary=x")
    assert form.status_code == 400
    assert "--upload-file" in form.content.decode()
    assert put(alices, b"")[0] == 422
    settings.PROVIDER_DOCS_MAX_BYTES = 100
    status, document = put(alices, docs.archive())
    assert status == 413
    assert "provider_docs_max_bytes of LARDER_LIMITS" in json.dumps(document)
    assert not DocsArchive.objects.exists()


def test_readers_see_the_pages_and_not_what_was_sent(alices, tofu, bob, dns):
    put(alices, docs.archive())
    work()
    readers = tofu(bob)
    assert set(shown(readers)) == {"pages"}
    assert readers.generic("PUT", URL, docs.archive()).status_code == 403


def test_what_is_in_quarantine_or_not_there_takes_none(alices, dns):
    assert alices.generic("PUT", URL.replace("1.2.0", "1.2.1"), docs.archive()).status_code == 404
    Release.objects.filter(pk=dns.release_id).update(quarantined_at=timezone.now())
    assert put(alices, docs.archive())[0] == 404


def test_a_worker_that_died_at_any_point_is_followed_by_one_that_ends_it(alices, dns, monkeypatch):
    put(alices, docs.archive())
    job = Job.objects.get(kind=replacing.JOB)
    for place, name in ((store, "store_staged"), (store, "discard_staged")):
        with monkeypatch.context() as broken:
            broken.setattr(place, name, lambda *_, **__: 1 / 0)
            read_provider_docs(job_id=job.pk)
        Job.objects.filter(pk=job.pk).update(state="queued", not_before=None)
    read_provider_docs(job_id=job.pk)
    assert len(shown(alices)["pages"]) == 7


def test_what_brings_down_every_worker_is_given_up(alices, dns, settings):
    put(alices, docs.archive())
    job = Job.objects.get(kind=replacing.JOB)
    Job.objects.filter(pk=job.pk).update(attempts=settings.JOB_ATTEMPTS, not_before=timezone.now() - timedelta(hours=1))
    read_provider_docs(job_id=job.pk)
    assert [one["reasons"][0]["code"] for one in shown(alices)["archives"]] == ["gave_up"]


@pytest.mark.both
def test_a_version_that_is_purged_meanwhile_keeps_no_bytes(alices, dns, monkeypatch):
    put(alices, docs.archive())
    digest = DocsArchive.objects.get().digest
    stored = store.store_staged

    def purged(*args, **more):
        blob = stored(*args, **more)
        release = dns.release
        dns.packages.all().delete()
        dns.delete()
        Release.objects.filter(pk=release.pk).update(state="purged")
        return blob

    monkeypatch.setattr(store, "store_staged", purged)
    work()
    assert store.size_of(digest) is None
