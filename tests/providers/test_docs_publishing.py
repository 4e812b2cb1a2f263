"""Documentation on its way with a release: from its packages, from an archive of its own, and refused with it."""

import pytest

from apps.providers.models import DocsArchive, ProviderVersion
from apps.releases.models import ReleaseFile
from tests.builders import docs, providers
from tests.providers.draft_client import LINUX, PLATFORMS, STEM, SUMS, codes, dist, signed, zips

DOCS = f"{STEM}_docs.zip"


def pages():
    return sorted(ProviderVersion.objects.get().docs_pages.values_list("kind", "slug"))


def with_docs(files):
    """The zips of a release whose packages hold those files, too."""
    found = {}
    for platform in PLATFORMS:
        name = f"{STEM}_{platform}.zip"
        found[name] = providers.package("dns", "1.2.0", *platform.split("_"), extra=files)
    return found


def test_pages_come_from_the_packages(draft_client, held):
    document = draft_client.publish(with_docs(docs.TODAY), protocols=["5.0"])

    assert document["state"] == "published", document["reasons"]
    assert len(pages()) == 7
    assert "Names are lower case." in ProviderVersion.objects.get().docs_pages.get(slug="record").html
    assert not DocsArchive.objects.exists()


def test_an_archive_of_its_own_wins_over_the_packages_and_clients_hear_nothing_of_it(draft_client, held, tofu, alice):
    files = {**with_docs(docs.TODAY), DOCS: docs.archive({"docs/index.md": "# Mine"})}
    document = draft_client.publish(files, protocols=["5.0"])

    assert document["state"] == "published", document["reasons"]
    assert {file["name"]: file["role"] for file in document["files"]}[DOCS] == "docs"
    assert pages() == [("overview", "index")]
    archive = DocsArchive.objects.get()
    assert (archive.state, archive.digest) == ("shown", ReleaseFile.objects.get(name=DOCS).digest)
    release = archive.version.release
    assert release.blobs.filter(digest=archive.digest, name=DOCS).exists()  # so a purge finds it
    assert sorted(package.filename for package in archive.version.packages.all()) == sorted(zips())
    for path in ("versions", "1.2.0/download/linux/amd64"):
        assert "docs" not in tofu(alice).get(f"/v1/providers/acme/dns/{path}").content.decode()


def test_it_is_no_part_of_what_the_publisher_signs_and_sums_that_list_it_say_so(draft_client, registered):
    files = {**dist(), DOCS: docs.archive()}
    listed = providers.sums({name: data for name, data in files.items() if name != SUMS})
    document = draft_client.publish(signed({**files, SUMS: listed}))
    assert codes(document) == ["sums_lists_docs"]
    assert DOCS in document["reasons"][0]["found"]

    document = draft_client.publish({**signed(dist()), DOCS: docs.archive()})
    assert document["state"] == "published", document["reasons"]
    assert len(pages()) == 7


def test_the_same_packages_are_the_same_release_whatever_was_written(draft_client, held):
    draft_client.publish({**zips(), DOCS: docs.archive()}, protocols=["5.0"])
    assert draft_client.put(LINUX, zips()[LINUX]).status_code == 200
    assert draft_client.hand_in().status_code == 200


def test_a_bad_archive_refuses_the_release_by_its_name(draft_client, held):
    document = draft_client.publish({**zips(), DOCS: docs.archive({"README.md": "x"})}, protocols=["5.0"])

    assert (document["state"], codes(document)) == ("rejected", ["docs_none"])
    assert document["reasons"][0]["file"].startswith(DOCS)
    assert not ProviderVersion.objects.exists()


def test_what_is_wrong_with_docs_in_a_package_stops_nobody(draft_client, held):
    long = {"docs/index.md": "x" * 600_000, "docs/resources/<b>.md": "x", "docs/resources/zone.md": "\xff\x00 <script>"}
    document = draft_client.publish(with_docs(long), protocols=["5.0"])

    assert document["state"] == "published", document["reasons"]
    assert pages() == [("resources", "zone")]


def test_a_draft_says_how_large_it_may_be(draft_client, settings):
    settings.PROVIDER_DOCS_MAX_BYTES = 100
    draft_client.open()
    refused = draft_client.put(DOCS, docs.archive())
    assert refused.status_code == 413
    assert "provider_docs_max_bytes of LARDER_LIMITS" in refused.content.decode()


@pytest.mark.both
def test_what_it_describes_is_found_by_its_name(draft_client, held, tofu, alice, browser_of):
    draft_client.publish({**zips(), DOCS: docs.archive()}, protocols=["5.0"])
    browser = browser_of(alice)
    for word in ("a_record_set", "zone", "reverse"):
        assert [str(row.address) for row in browser.get(f"/providers?q={word}").context["rows"]] == ["acme/dns"]
