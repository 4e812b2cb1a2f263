"""Docs of mirrored providers: what a worker reads in stored packages, once, and for as long as they are stored."""

import pytest
from structlog.testing import capture_logs

from apps.accounts.access.gate import Viewer
from apps.blobs.models import Blob
from apps.contrib.mirror import stored_sums, tasks
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import (
    KeyPin,
    PackageDocs,
    PackageDocsPage,
    StoredSum,
    Upstream,
    UpstreamPackage,
    UpstreamVersion,
)
from apps.contrib.mirror.records import storage, trust
from apps.contrib.mirror.serving import docs
from apps.contrib.mirror.tests import documented, fetched
from apps.contrib.mirror.tests.shelf import add_package, add_upstream, add_version
from apps.jobs.models import Job
from apps.lib.packages import sandboxed
from apps.releases.docs import layouts, reading
from tests.builders import docs as builder
from tests.builders.hostile import PAYLOADS, findings_in

pytestmark = [pytest.mark.django_db, pytest.mark.both]


def places() -> list[tuple[str, str]]:
    return sorted(PackageDocsPage.objects.values_list("kind", "slug"))


def page(slug: str) -> PackageDocsPage:
    return PackageDocsPage.objects.get(slug=slug)


def used() -> int:
    return StoredSum.objects.get().bytes


# --- What is read -----------------------------------------------------------------------------------------------------


def test_a_stored_package_is_read_in_bulk_later_and_not_beside_the_init_that_fetched_it(upstream, registry):
    registry.add_provider(versions=["1.0.0"], platforms=["linux_amd64"])
    package = fetched.stored(upstream)
    assert not Job.objects.filter(kind=docs.JOB).exists()

    tasks.read_unread_docs()
    job = Job.objects.get(kind=docs.JOB)
    assert (job.target, job.source, job.share) == (package.version_id, docs.SOURCE, f"upstream {upstream.pk}")
    documented.work()
    read = PackageDocs.objects.get()
    assert (read.digest, read.pages) == (package.digest, 0)
    assert "contain no documentation" in docs.of(package.version).why


def test_pages_of_docs_and_what_lies_beside_the_program_are_read():
    documented.read()

    assert len(builder.TODAY) - 2 + 3 == len(places())
    assert [place for place in places() if place[0] == "about"] == [
        ("about", "changelog"),
        ("about", "license"),
        ("about", "readme"),
    ]
    assert page("record").name == "dns_record"
    assert (page("readme").name, page("changelog").name, page("license").name) == ("README", "Changelog", "License")


def test_links_lead_to_the_pages_of_whichever_version_shows_them():
    documented.read()

    html = docs.placed(page("readme").html, "/mirror/providers/registry.example.com/acme/dns/1.2.0/docs")
    for path in ("resources/record", "about/changelog"):
        assert f'href="/mirror/providers/registry.example.com/acme/dns/1.2.0/docs/{path}"' in html


def test_a_licence_is_shown_as_it_is_laid_out():
    documented.read({"LICENSE.txt": documented.ABOUT["LICENSE"]})
    assert page("license").html == ('<pre tabindex="0">Mozilla Public License\n    1. Definitions &lt;b&gt;\n</pre>')


def test_one_platform_is_read_and_a_second_one_not():
    first = documented.read()
    add_package(first.version, documented.zipped({"docs/index.md": "# Other"}, "arm64"), arch="arm64")
    docs.request(first.version)

    assert documented.work() == 0
    assert [read.digest for read in PackageDocs.objects.all()] == [first.digest]


def test_the_same_bytes_of_two_registries_are_read_once_and_shown_for_both():
    first = documented.read()
    second = documented.package(upstream=add_upstream("other.example.com"))
    docs.request(second.version)

    assert documented.work() == 0
    assert docs.of(second.version) == docs.of(first.version)


def test_a_sealed_upstream_has_its_stored_packages_read():
    documented.read(upstream=add_upstream(is_sealed=True))
    assert places()


# --- What was stored before -------------------------------------------------------------------------------------------


def test_versions_that_were_stored_before_are_read_in_bulk():
    upstream = add_upstream()
    for number in range(3):
        add_package(add_version(upstream, version=f"1.{number}.0"), documented.zipped({"README.md": f"# {number}"}))
    tasks.read_unread_docs()
    tasks.read_unread_docs()

    assert set(Job.objects.filter(kind=docs.JOB).values_list("source", flat=True)) == {docs.SOURCE}
    assert documented.work() == 3
    assert docs.request_unread() == 0


def test_what_another_reader_read_is_read_again():
    package = documented.read()
    PackageDocs.objects.update(reader="0/4", pages=1)
    PackageDocsPage.objects.exclude(slug="zone").delete()
    assert docs.of(package.version).docs, "it is shown meanwhile"

    assert docs.request_unread() == 1
    documented.work()
    assert len(places()) == PackageDocs.objects.get().pages == 10


# --- Bytes that go ----------------------------------------------------------------------------------------------------


def _evict(package: UpstreamPackage, viewer: Viewer) -> None:
    storage.evict_packages([package], reason="test")


def _refuse_key(package: UpstreamPackage, viewer: Viewer) -> None:
    trust.decide_key(KeyPin.objects.get(), is_trusted=False, actor=viewer, reason="test")


def _remove(package: UpstreamPackage, viewer: Viewer) -> None:
    upstreams.remove("registry.example.com", actor=viewer)


@pytest.mark.parametrize("go", [_evict, _refuse_key, _remove])
def test_docs_go_with_the_last_package_that_they_were_read_in(go, olga):
    package = documented.read()
    go(package, Viewer(olga))

    assert not PackageDocs.objects.exists()
    assert places() == []


def test_docs_stay_while_another_registry_has_the_same_package():
    package = documented.read()
    documented.package(upstream=add_upstream("other.example.com"))
    storage.evict_packages([package], reason="test")

    assert places()
    assert "stores none of this version" in docs.of(package.version).why


def test_another_platform_is_read_once_the_first_one_went():
    first = documented.read()
    add_package(first.version, documented.zipped({"docs/index.md": "# Other"}, "arm64"), arch="arm64")
    storage.evict_packages([first], reason="test")
    assert docs.request_unread() == 1
    documented.work()

    assert places() == [("overview", "index")]


def test_pages_count_to_the_quota_as_packages_do():
    package = documented.read()
    size = sum(len(one.html.encode()) for one in PackageDocsPage.objects.all())

    assert PackageDocs.objects.get().size == size > 0
    assert used() == Blob.objects.get(digest=package.digest).size + size
    assert stored_sums.recount() == 0
    storage.evict_packages([package], reason="test")
    assert used() == 0


def test_each_night_docs_that_an_older_larder_left_behind_go():
    package = documented.read()
    UpstreamPackage.objects.filter(pk=package.pk).update(blob=None)
    assert stored_sums.drop_docs() > 0
    assert places() == []


# --- Bad input --------------------------------------------------------------------------------------------------------


def test_hostile_words_stay_words_on_every_page():
    texts = "\n\n".join(PAYLOADS[:60]).replace("\x00", "")
    names = ("README.md", "CHANGELOG.md", "LICENSE", "docs/index.md", "docs/guides/hostile.md")
    front = '---\npage_title: "<script>alert(1)</script>"\n---\n'
    documented.read(dict.fromkeys(names, f"{front}# {PAYLOADS[0]}\n\n{texts}"))

    assert len(places()) == len(names)
    for one in PackageDocsPage.objects.all():
        assert findings_in(docs.placed(one.html, "/mirror/providers/a/b/c/1.0.0/docs")) == [], one.slug


def test_bytes_that_are_no_utf8_are_shown_as_far_as_they_are():
    documented.read({"README.md": b"# \xff\xfe caf\xe9 \x00 end"})
    assert "caf\ufffd \ufffd end" in page("readme").html


def test_pages_beyond_the_limits_are_left_out_and_the_log_says_so(monkeypatch):
    monkeypatch.setattr(reading, "MAX_TEXT_BYTES", 100)
    monkeypatch.setattr(reading, "MAX_TOTAL_TEXT_BYTES", 150)
    monkeypatch.setattr(layouts, "MAX_PAGES", 4)
    many = {f"docs/guides/g{number}.md": "x" * 60 for number in range(9)}
    with capture_logs() as logs:
        documented.read({"README.md": "x" * 101, **many})

    assert places() == [("guides", "g0"), ("guides", "g1")]
    assert [entry["page"] for entry in logs if entry["event"] == "docs_page_left_out"] == [
        "README.md",
        "docs/guides/g2.md",
    ]


def test_a_package_beyond_todays_limits_has_no_docs_and_stays_stored(settings):
    settings.PROVIDER_UNPACKED_MAX_BYTES = 10
    package = documented.read()

    assert PackageDocs.objects.get().pages == 0
    assert UpstreamPackage.objects.get(pk=package.pk).blob_id is not None


def test_a_package_that_ends_every_attempt_is_given_up_once(monkeypatch, settings):
    def broken(*_: object) -> None:
        raise sandboxed.CheckBroken("no child")

    monkeypatch.setattr(sandboxed, "inspect_foreign", broken)
    package = documented.package()
    docs.request(package.version)
    for _ in range(settings.JOB_ATTEMPTS + 1):
        Job.objects.update(not_before=None)
        documented.work()

    assert PackageDocs.objects.get().pages == 0
    assert docs.request_unread() == 0


def test_a_registry_has_a_page_for_people():
    tofu = add_version(add_upstream("registry.opentofu.org"), "acme/dns", "1.2.0+b")
    other = add_version(Upstream.objects.create(host="reg.example", url="https://mirror.example:8443"), "acme/dns")

    for version, url in (
        (tofu, "https://search.opentofu.org/provider/acme/dns/v1.2.0+b"),
        (other, "https://mirror.example:8443/providers/acme/dns/3.6.0/docs"),
    ):
        found = UpstreamVersion.objects.select_related("provider__upstream").get(pk=version.pk)
        assert docs.registry_page(found) == url
