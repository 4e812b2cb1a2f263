"""/modules/<address>/outdated and /providers/<address>/outdated: who is still on deprecated or yanked versions"""

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, Role, Visibility
from apps.accounts.people import teams
from apps.modules.models import ModuleVersion
from apps.releases.models import DownloadCount, Lifecycle, Release, TeamDownload
from tests import pages
from tests.modules.dependents.rows import calls, requires
from tests.portal.providers.rows import provider_version, row_of_key
from tests.portal.rows import add_module, add_modules

URL = "/modules/acme/vpc/aws/outdated"
DIGEST = "sha256:" + "5" * 64
# 1.0.0 is yanked, 1.1.0 deprecated, 2.0.0 maintained.
CALLERS = {
    "yanked": ({"constraint": "1.0.0"}, ("1.0.0", True)),
    "deprecated": ({"constraint": "~> 1.0"}, ("1.1.0", False)),
    "newest": ({"constraint": ">= 1.0"}, None),
    "any": ({}, None),
    "unknown": ({"constraint": "local.version"}, None),
    "none": ({"constraint": "9.9.9"}, None),
    "tag": ({"source": "oci://here.example/acme/vpc/aws?tag=1.0.0"}, ("1.0.0", False)),
    "latest": ({"source": "oci://here.example/acme/vpc/aws"}, None),
    "digest": ({"source": f"oci://here.example/acme/vpc/aws?digest={DIGEST}"}, ("1.1.0", False)),
    "other": ({"source": "oci://here.example/acme/vpc/aws?digest=sha256:00"}, None),
}


def move(version: str, state: Lifecycle) -> None:
    Release.objects.filter(version=version).update(
        lifecycle=state, lifecycle_reason="It loses data.", lifecycle_at=timezone.now()
    )


@pytest.fixture
def vpc(acme):
    add_module(acme, "vpc/aws", "1.0.0", "1.1.0", "2.0.0")
    move("1.0.0", Lifecycle.YANKED)
    move("1.1.0", Lifecycle.DEPRECATED)
    ModuleVersion.objects.filter(release__version="1.1.0").update(manifest_digest=DIGEST)


@pytest.fixture
def called(vpc, pantry):
    for name, (how, _) in CALLERS.items():
        calls(add_module(pantry, f"{name}/aws"), "acme/vpc/aws", **how)


def found(response) -> dict[str, tuple[str, bool]]:
    return {one.use.address.name: (one.version, one.fails) for one in response.context["page"].object_list}


@pytest.mark.both
def test_it_names_modules_by_what_they_get_today_and_none_that_the_owner_does_not_see(called, browser_of, dora):
    vault = Namespace.objects.create(name="vault", canonical="vault", visibility=Visibility.PRIVATE)
    calls(add_module(vault, "hidden/aws"), "acme/vpc/aws", constraint="1.0.0")
    response = browser_of(dora).get(URL)
    text = pages.shown(response)

    assert found(response) == {name: gets for name, (_, gets) in CALLERS.items() if gets}
    assert text.index("pantry/yanked/aws") < text.index("pantry/deprecated/aws"), "what fails comes first"
    assert "2 versions of this module are deprecated or yanked" in text
    assert "vault" not in text
    assert f'Modules <span class="count">{len(found(response))}<' in text
    assert 'href="/modules/acme/vpc/aws/usage/notify"' in text


@pytest.mark.both
def test_it_sums_up_downloads_of_such_versions_alone(vpc, acme, olga, browser_of, dora):
    team = teams.create(name="cooks", actor=Viewer(olga))
    Grant.objects.create(namespace=acme, team=team, role=Role.READER)
    unseen = teams.create(name="unseen", actor=Viewer(olga))
    day = timezone.now().date()
    for release in Release.objects.filter(name="vpc/aws"):
        DownloadCount.objects.create(release=release, day=day, client="OpenTofu 1.12.6", count=7)
        TeamDownload.objects.create(release=release, day=day, team=team, count=2)
        TeamDownload.objects.create(release=release, day=day, team=unseen, count=5)

    response = browser_of(dora).get(URL)

    context = response.context
    assert [(one.version, one.count) for one in context["by_version"]] == [("1.1.0", 7), ("1.0.0", 7)]
    assert context["clients"] == [("OpenTofu 1.12.6", 14)]
    assert [(one.name, one.count) for one in context["teams"]] == [("cooks", 4)]
    assert "unseen" not in pages.shown(response)


def test_a_providers_page_says_the_same(acme, pantry, browser_of, dora):
    key = row_of_key(acme, 1)
    for version in ("1.0.0", "2.0.0"):
        provider_version(acme, "dns", version, key=key)
    move("1.0.0", Lifecycle.DEPRECATED)
    requires(add_module(pantry, "old/aws"), "acme/dns", constraint="< 2.0.0")
    requires(add_module(pantry, "new/aws"), "acme/dns", constraint=">= 1.0.0")

    assert found(browser_of(dora).get("/providers/acme/dns/outdated")) == {"old": ("1.0.0", False)}


def test_a_version_that_should_not_be_used_leads_there(acme, browser_of, dora, bob):
    add_module(acme, "vpc/aws", "1.2.0")
    assert "No version is deprecated or yanked" in pages.shown(browser_of(dora).get(URL))

    move("1.2.0", Lifecycle.YANKED)
    assert f'href="{URL}"' in pages.shown(browser_of(dora).get("/modules/acme/vpc/aws/1.2.0"))
    assert f'href="{URL}"' not in pages.shown(browser_of(bob).get("/modules/acme/vpc/aws/1.2.0"))


def test_many_have_pages_and_cost_no_more(vpc, pantry, browser_of, dora, django_assert_max_num_queries, monkeypatch):
    monkeypatch.setattr("apps.portal.versions.downloads.OUTDATED_PAGE", 5)
    for module in add_modules(pantry, [f"user{number}/aws" for number in range(9)]):
        calls(module, "acme/vpc/aws", constraint="1.0.0")
    browser = browser_of(dora)

    with django_assert_max_num_queries(18):
        text = pages.shown(browser.get(URL))

    assert 'Modules <span class="count">9<' in text
    assert "user5" not in text
    assert "user8" in pages.shown(browser.get(f"{URL}?page=2"))
