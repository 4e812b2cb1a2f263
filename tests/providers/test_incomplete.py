"""A9: no way leads to a published version without its sums, its signature or its key; the database itself refuses."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.urls import reverse

from apps.providers.models import Package, ProviderVersion
from apps.releases.models import Release
from tests.providers.draft_client import dist, signed
from tests.rows import for_each_row

DIGEST = "0" * 64


@pytest.fixture
def version(draft_client, registered) -> ProviderVersion:
    assert draft_client.publish(signed(dist()))["state"] == "published"
    return ProviderVersion.objects.get()


def sql(text, *values):
    with connection.cursor() as cursor:
        cursor.execute(text, values)


def another(version, **fields):
    """A second version by the ORM, as a new verb might create it."""
    same = {"provider": version.provider, "is_prerelease": False, "protocols": ["5.0"], "signing": "publisher"}
    whole = {"key": version.key, "sums_digest": DIGEST, "signature_digest": DIGEST}
    release = Release.objects.create(
        kind="provider",
        namespace=version.provider.namespace,
        name="dns",
        version="2.0.0",
        sort_key=b"2",
        staging_key="s",
    )
    return ProviderVersion.objects.create(release=release, **same, **{**whole, **fields})


WAYS = {
    "made without sums": lambda version: another(version, sums_digest=""),
    "made without a signature": lambda version: another(version, signature_digest=""),
    "made without a key": lambda version: another(version, key=None),
    "made with half a digest": lambda version: another(version, sums_digest="0" * 63),
    "made with a digest in upper case": lambda version: another(version, signature_digest="A" * 64),
    "sums taken away": lambda version: ProviderVersion.objects.filter(pk=version.pk).update(sums_digest=""),
    "signature taken away": lambda version: ProviderVersion.objects.filter(pk=version.pk).update(signature_digest=""),
    "key taken away": lambda version: ProviderVersion.objects.filter(pk=version.pk).update(key=None),
    "sums taken away in SQL": lambda version: sql(
        "UPDATE providers_providerversion SET sums_digest = '' WHERE id = %s", version.pk
    ),
    "key taken away in SQL": lambda version: sql(
        "UPDATE providers_providerversion SET key_id = NULL WHERE id = %s", version.pk
    ),
    "a package without a digest": lambda version: Package.objects.filter(version=version).update(digest=""),
    "a release without a digest": lambda version: Release.objects.filter(pk=version.release_id).update(digest=""),
}


@pytest.mark.both
@for_each_row("way", WAYS)
def test_the_database_refuses(version, way):
    with pytest.raises(IntegrityError), transaction.atomic():
        WAYS[way](version)
    assert ProviderVersion.objects.get() == version


def test_the_admin_has_no_field_for_it(version, browser_of, olga):
    url = reverse("admin:providers_providerversion_change", args=[version.pk])
    sent = {"sums_digest": "", "signature_digest": "", "key": ""}
    assert browser_of(olga).post(url, sent).status_code in (302, 403)
    version.refresh_from_db()
    assert version.sums_digest
    assert version.key_id
