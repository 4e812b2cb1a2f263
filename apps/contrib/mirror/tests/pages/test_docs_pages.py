"""The documentation tab of mirrored versions: who sees it, what it says without docs, what it costs."""

import re

import pytest
from django.utils import timezone

from apps.contrib.mirror.models import PackageDocs, PackageDocsPage
from apps.contrib.mirror.serving import docs
from apps.contrib.mirror.tests import documented
from apps.contrib.mirror.tests.shelf import add_package, add_upstream, add_version
from apps.jobs.models import Job
from apps.releases.docs.models import DocsKind
from apps.releases.models import Release
from tests import pages
from tests.pages import queries_of, shown

V = "/mirror/providers/registry.example.com/acme/dns/1.2.0"
D = f"{V}/docs"


@pytest.fixture
def dns(db):
    return documented.read()


@pytest.fixture
def browser(browser_of):
    return browser_of(None)


def test_the_version_has_a_documentation_tab_with_the_navigation_of_our_own_providers(browser, dns):
    assert f'href="{D}">Documentation' in pages.markup_of(browser.get(V))

    page = pages.markup_of(browser.get(D))
    assert f'href="{D}" aria-current="page">Documentation' in page
    assert re.findall(r"<summary>([\w ]+) <span", page) == [
        "Guides",
        "Resources",
        "Data sources",
        "Ephemeral resources",
        "Functions",
        "About the package",
    ]
    assert f'href="{D}/resources/record"' in page
    assert "Replace the documentation" not in page


def test_every_link_between_pages_leads_to_a_page(browser, dns):
    seen = set()
    for row in PackageDocsPage.objects.all():
        url = D if row.kind == DocsKind.OVERVIEW else f"{D}/{row.kind}/{row.slug}"
        answer = browser.get(url)
        assert answer.status_code == 200, url
        seen |= set(re.findall(rf'href="({D}[^"#]*)', answer.content.decode()))
    assert len(seen) == PackageDocs.objects.get().pages
    for href in seen:
        assert browser.get(href).status_code == 200, href


def test_a_page_has_a_title_and_a_trail_and_other_paths_are_missing(browser, dns):
    page = pages.markup_of(browser.get(f"{D}/resources/record"))
    assert "<title>dns_record, registry.example.com/acme/dns 1.2.0" in page
    assert '<li aria-current="page">dns_record</li>' in page
    for path in ("resources/absent", "secrets/record", "overview/index", "resources/record/more"):
        assert browser.get(f"{D}/{path}").status_code == 404, path


def test_the_list_is_filtered_without_a_script(browser, dns):
    page = pages.markup_of(browser.get(f"{D}?q=zone"))
    assert "1 of 10" in page


def test_a_package_with_a_readme_alone_begins_with_it(browser, db):
    documented.read(documented.ABOUT)
    page = shown(browser.get(D))
    assert "how records work" in page
    assert f'href="{D}/about/readme" aria-current="page"' in page


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda: add_version(add_upstream(), "acme/dns", "1.2.0"), "stores none of this version"),
        (documented.package, "is reading the packages of this version"),
        (lambda: documented.read({}), "contain no documentation"),
    ],
    ids=["nothing stored", "not read", "none included"],
)
def test_without_documentation_one_line_says_why_and_links_to_the_registrys_page(browser, db, prepare, said):
    prepare()
    page = shown(browser.get(D))

    assert said in page
    assert 'href="https://registry.example.com/providers/acme/dns/1.2.0/docs"' in page
    assert browser.get(f"{D}/resources/record").status_code == 404


def test_who_opens_them_first_has_them_read_and_sees_them_without_a_reload(browser, db):
    documented.package()
    page = pages.markup_of(browser.get(D))
    assert f'id="docs" hx-get="{D}"' in page
    assert browser.get(D).status_code == 200, "it is asked for once"
    assert Job.objects.get(kind=docs.JOB).source == "", "somebody waits for it"

    documented.work()
    assert "hx-get" not in pages.markup_of(browser.get(D)).partition('id="docs"')[2].partition(">")[0]
    assert "dns_record" in shown(browser.get(f"{D}/resources/record"))


def test_bytes_in_quarantine_here_give_out_no_documentation(browser, dns, published):
    published()
    Release.objects.update(digest=dns.digest, quarantined_at=timezone.now())

    assert "are quarantined" in shown(browser.get(D))
    assert browser.get(f"{D}/resources/record").status_code == 404


def test_the_page_costs_as_much_beside_many_pages_and_packages(browser, dns):
    before = queries_of(browser, f"{D}/resources/record")
    read = PackageDocs.objects.get()
    for number in range(40):
        PackageDocsPage.objects.create(docs=read, kind="resources", slug=f"r{number}", name=f"dns_r{number}", html="x")
    for number in range(10):
        add_package(dns.version, b"zip %d" % number, arch=f"arch{number}")

    assert queries_of(browser, f"{D}/resources/record") == before <= 16
