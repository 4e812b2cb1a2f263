"""The documentation tab: its pages, their list and filter, other versions, and the form for another archive."""

import re

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apps.jobs.models import Job
from apps.lib.addresses import ProviderAddress
from apps.providers.docs import replacing, sources
from apps.providers.models import DocsPage
from apps.providers.tasks import read_provider_docs
from apps.releases.docs import layouts
from apps.releases.models import Release
from tests import pages
from tests.builders import docs
from tests.builders.hostile import PAYLOADS, findings_in
from tests.portal.providers.rows import provider_version, row_of_key
from tests.rows import for_each_row

V = "/providers/acme/dns/1.2.0"
D = f"{V}/docs"
ORIGIN = {"Origin": settings.PUBLIC_URL}


def document(version, files=docs.TODAY):
    sources.write(version, docs.pages(files, version.provider.address, version.release.version))


@pytest.fixture
def bare(acme):
    """A version without documentation."""
    return provider_version(acme, "dns", "1.2.0", key=row_of_key(acme, 1))


@pytest.fixture
def dns(bare):
    document(bare)
    return bare


@pytest.fixture
def browser(bob, browser_of):
    return browser_of(bob)


@pytest.fixture
def publisher(alice, browser_of):
    return browser_of(alice)


def send(client, data, name="docs.zip", **headers):
    body = f'--cut\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    body += data + b"\r\n--cut--\r\n"
    return client.post(f"{D}/archive", body, "multipart/form-data; boundary=cut", headers=headers or ORIGIN)


def shown_items(page):
    items = re.findall(r'<li class="docs__item"[^>]*?( hidden)?><a[^>]*>([^<]+)</a>', pages.markup_of(page))
    return [name for hidden, name in items if not hidden]


def test_the_overview_stands_beside_the_list_of_all_pages(browser, dns):
    page = browser.get(D)

    assert page.status_code == 200
    assert "Looks after" in pages.markup_of(page)
    assert shown_items(page) == [
        "Overview",
        "Getting started",
        "dns_record",
        "dns_zone",
        "dns_a_record_set",
        "dns_key",
        "reverse",
    ]
    assert re.findall(r"<summary>([\w ]+) <span", pages.markup_of(page)) == [
        "Guides",
        "Resources",
        "Data sources",
        "Ephemeral resources",
        "Functions",
    ]
    assert 'class="docs__group">Records &amp; Sets<' in pages.markup_of(page)
    assert f'href="{D}" aria-current="page">Documentation' in pages.markup_of(page)
    for path in ("resources/absent", "secrets/record", "overview/record", "resources/record/more"):
        assert browser.get(f"{D}/{path}").status_code == 404, path


def test_a_page_has_a_title_a_trail_and_its_place_in_the_list(browser, dns):
    page = browser.get(f"{D}/resources/record")

    assert "<title>dns_record, acme/dns 1.2.0" in pages.markup_of(page)
    assert '<li aria-current="page">dns_record</li>' in pages.markup_of(page)
    assert re.search(rf'href="{D}/resources/record" aria-current="page">dns_record<', pages.markup_of(page))
    assert 'id="user-content-argument-reference"' in pages.markup_of(page)
    assert "markdown-alert-warning" in pages.markup_of(page)


def test_every_link_between_pages_leads_to_a_page(browser, dns):
    for row in dns.docs_pages.all():
        for href in re.findall(rf'href="({D}[^"#]*)', row.html):
            assert browser.get(href).status_code == 200, href
    address = ProviderAddress("acme", "dns")
    for version in ("1.2.0", "1.2.0+build.5"):
        route = reverse("portal:provider-docs", args=["acme", "dns", version])
        assert sources.docs_path(address, version) == route


@for_each_row(
    ("query", "found"),
    [
        ("zone", ["dns_zone"]),
        ("DNS record", ["dns_record", "dns_a_record_set"]),
        ("sets", ["dns_record"]),
        ("nothing", []),
        ("%00", None),
    ],
)
def test_the_list_is_filtered_without_a_script(browser, dns, query, found):
    page = browser.get(f"{D}?q={query}")
    assert page.status_code == 200
    if found is not None:
        assert shown_items(page) == found
        assert f"{len(found)} of 7" in pages.markup_of(page)


def test_another_version_shows_the_same_page_where_it_has_it(browser, acme, dns):
    newer = provider_version(acme, "dns", "1.3.0", key=dns.key)
    document(newer, {name: text for name, text in docs.TODAY.items() if "zone" not in name})
    record, zone = (
        pages.markup_of(browser.get(f"{D}/resources/record")),
        pages.markup_of(browser.get(f"{D}/resources/zone")),
    )

    assert 'href="/providers/acme/dns/1.3.0/docs/resources/record"' in record
    assert 'href="/providers/acme/dns/1.3.0/docs/resources/zone"' not in zone
    assert 'href="/providers/acme/dns/1.3.0/docs"' in zone


def test_without_documentation_or_an_overview_readers_and_publishers_hear_what_they_can_do(browser, publisher, bare):
    assert "was published without documentation" in pages.text_of(browser.get(D))
    assert f'href="{D}/archive"' not in pages.markup_of(browser.get(D))
    assert f'href="{D}/archive"' in pages.markup_of(publisher.get(D))

    document(bare, {"docs/resources/zone.md": "no heading"})
    page = browser.get(D)
    assert "no overview" in pages.markup_of(page)
    assert shown_items(page) == ["dns_zone"]
    assert "<h2>dns_zone</h2>" in pages.markup_of(browser.get(f"{D}/resources/zone"))


def test_pages_take_as_many_queries_beside_many_and_never_all_texts(browser, acme, dns):
    browser.get(D)
    counts = []
    for start, stop in ((0, 5), (5, 40)):
        for number in range(start, stop):
            provider_version(acme, "dns", f"3.{number}.0", key=dns.key)
            DocsPage.objects.create(version=dns, kind="resources", slug=f"r{number}", name=f"dns_r{number}", html="x")
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(f"{D}/resources/record").status_code == 200
        counts.append(len(queries))
        assert sum('"providers_docspage"."html"' in query["sql"] for query in queries) == 1

    assert counts[0] == counts[1] <= 16


@pytest.mark.slow
def test_hostile_words_stay_words_wherever_they_stand(browser, bare):
    texts: dict[layouts.Place, bytes] = {}
    for number, text in enumerate(PAYLOADS):
        front = " ".join(text.split()).replace('"', "")
        lines = "\n".join(f'{key}: "{front}"' for key in ("page_title", "subcategory", "description"))
        source = f"---\n{lines}\n---\n# {text}\n\n-> {text}\n"
        place = layouts.place_of(f"guides/p{number}.md")
        assert place is not None
        texts[place] = source.encode()
    sources.write(bare, sources.render(texts, bare.provider.address, "1.2.0"))
    for path in [D, f"{D}?q=script", *(f"{D}/guides/p{number}" for number in range(0, len(PAYLOADS), 25))]:
        assert findings_in(browser.get(path).text) == []
    for page in bare.docs_pages.all():
        assert findings_in(page.html) == []


# --- The form for another archive -------------------------------------------------------------------------------------


def test_an_archive_is_sent_read_and_shown_and_a_refused_one_says_why(publisher, bare):
    assert send(publisher, docs.archive(), Origin="https://evil.example").status_code == 403
    assert not bare.docs_archives.exists(), "only pages of this site may send one"

    answer = send(publisher, docs.archive())
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{D}/archive")
    page = publisher.get(f"{D}/archive")
    assert "Being read" in pages.markup_of(page)
    assert 'hx-trigger="every 2s"' in pages.markup_of(page)
    read_archives()
    page = publisher.get(f"{D}/archive")
    assert "Shown" in pages.markup_of(page)
    assert "hx-trigger" not in pages.markup_of(page)
    assert "Looks after" in pages.markup_of(publisher.get(D))

    send(publisher, docs.archive({"README.md": "x"}))
    read_archives()
    refused = pages.text_of(publisher.get(f"{D}/archive"))
    assert "Rejected" in refused
    assert "docs/resources/<name>.md" in refused
    assert "Looks after" in pages.markup_of(publisher.get(D)), "what was there stays"


def read_archives():
    for job in Job.objects.filter(kind=replacing.JOB, state="queued"):
        read_provider_docs(job_id=job.pk)


@for_each_row(("data", "name", "status"), [(b"x" * 300, "docs.zip", 413), (b"", "docs.zip", 422), (b"", "", 422)])
def test_what_cannot_be_taken_in_is_said_beside_the_form(publisher, bare, settings, data, name, status):
    settings.PROVIDER_DOCS_MAX_BYTES = 200
    answer = send(publisher, data, name)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert not bare.docs_archives.exists()


def test_the_provider_s_overview_lists_its_documentation_by_kind_and_none_in_quarantine(
    browser, browser_of, olga, dns, bare
):
    page = pages.markup_of(browser.get(V))
    index = page.partition('id="docs-title"')[2].partition("</section>")[0]

    assert re.findall(r"<h3>([\w ]+) <span", index)[:3] == ["Guides", "Resources", "Data sources"]
    assert f'<a href="{D}">Overview</a>' in index
    assert re.search(rf'href="{D}/resources/record"> ?dns_record</a>', index)
    for link in re.findall(r'href="([^"]+)"', index):
        assert browser.get(link).status_code == 200, link

    Release.objects.filter(pk=dns.release_id).update(quarantined_at=timezone.now(), quarantine_reason="Looked at.")
    assert 'id="docs-title"' not in pages.markup_of(browser.get(V))
    assert browser.get(D).status_code == 404
    staff = browser_of(olga)
    assert "Looks after" not in pages.markup_of(staff.get(D))
    assert staff.get(f"{D}/resources/record").status_code == 404
