"""/mirror and the pages of mirrored providers: who sees what, and what the pages say."""

import pytest

from apps.contrib.mirror import snippets
from apps.contrib.mirror.models import Upstream, UpstreamVersion, Verdict
from apps.contrib.mirror.tests import mirrored
from tests.pages import queries_of, shown
from tests.rows import for_each_row

RANDOM = "/mirror/providers/registry.opentofu.org/hashicorp/random"


def test_everyone_gets_the_block_for_the_registries_that_they_may_read(browser_of, shelf, charlie):
    Upstream.objects.filter(host="registry.terraform.io").update(visibility="internal")
    expected = snippets.everything_block(["registry.opentofu.org"]).text
    assert expected in shown(browser_of(None).get("/mirror"))

    page = shown(browser_of(charlie).get("/mirror"))
    hosts = ["registry.opentofu.org", "registry.terraform.io"]
    assert snippets.everything_block(hosts, client="terraform").text in page
    assert snippets.everything_block(["registry.opentofu.org"], client="tofu").text in page
    assert 'token = "lrd_…"' in page  # one of the hosts is not public
    assert "registry.corp.example" not in page


def test_the_block_names_the_same_hosts_in_both_methods_and_staff_are_offered_both_public_registries(
    browser_of, olga, charlie
):
    text = snippets.everything_block(["registry.opentofu.org", "xn--bcher-kva.example"]).text
    include, exclude = (text.partition(f"{name} = [")[2].partition("]")[0] for name in ("include", "exclude"))
    assert include == exclude
    assert '"bücher.example/*/*"' in include  # clients refuse the encoded form
    assert "/v1/mirror/" in text

    page = shown(browser_of(olga).get("/mirror"))
    assert "/mirror/add?host=registry.opentofu.org" in page
    assert "/mirror/add?host=registry.terraform.io" in page
    assert "Ready to enable" not in shown(browser_of(charlie).get("/mirror"))


def test_staff_see_how_a_registry_does_with_the_url_status_and_rule(browser_of, shelf, auditor, charlie):
    Upstream.objects.filter(pk=shelf.public.pk).update(failure=mirrored.FAILURE | {"rule": "max_bytes"})
    page = shown(browser_of(auditor).get("/mirror/upstreams/registry.opentofu.org"))

    named = ("503", "max_bytes", "Failing", "Oldest list of versions", "/mirror/registry.opentofu.org/policy")
    for text in (str(mirrored.FAILURE["url"]), *named):
        assert text in page
    assert "registry.opentofu.org/change" not in page  # an auditor changes nothing
    assert "Registries with their health" in shown(browser_of(auditor).get("/mirror"))
    assert browser_of(charlie).get("/mirror/upstreams/registry.opentofu.org").status_code == 403
    others = shown(browser_of(charlie).get("/mirror"))
    assert "Failing" not in others
    assert "Alarms" not in others


def test_a_provider_shows_which_versions_clients_see_and_what_holds_the_others_back(browser_of, shelf):
    page = shown(browser_of(None).get(RANDOM))

    assert "From registry.opentofu.org" in page
    assert f"{RANDOM}/3.6.3" in page
    assert 'version = "~> 3.6"' in page  # 3.7.0 is held back
    assert page.count("Held back") == 2
    assert "cool-down of 3 days" in page
    assert "No longer listed" in page
    for verdict in ("Pinned key", "New key", "Not fetched yet"):
        assert verdict in page


@for_each_row(
    ("version", "said"),
    [
        ("hashicorp/random/3.5.1", "signed by a key that Larder saw for the first time with hashicorp/random"),
        ("hashicorp/random/3.6.3", "signed by a key that was already pinned for hashicorp/random"),
        ("hashicorp/random/3.7.0", "Not verified yet. Larder verifies the version when a client first asks for it"),
        ("kreuzwerker/docker/3.0.2", "The registry publishes no key for kreuzwerker"),
    ],
)
def test_the_verdicts_of_versions_are_never_confused(browser_of, shelf, version, said):
    page = shown(browser_of(None).get(f"/mirror/providers/registry.opentofu.org/{version}"))
    verdicts = (
        "saw for the first time",
        "already pinned for hashicorp/random",
        "Not verified yet",
        "publishes no key for",
    )

    assert said in page
    assert [text for text in verdicts if text in page and text not in said] == []
    assert ("vouches for" in page) is ("publishes no key" in said)


def test_a_version_shows_its_packages_to_members_who_fetched_it_and_a_lock_snippet_of_verified_bytes_alone(
    browser_of, shelf, charlie
):
    package = shelf.versions["3.5.1"].packages.get(os="linux")
    page = shown(browser_of(charlie).get(f"{RANDOM}/3.5.1"))
    for text in (package.digest, package.h1, package.fetched_from, "C874 011F 0AB4 0511", "for olga", "old"):
        assert text in page, text
    assert "for olga" not in shown(browser_of(None).get(f"{RANDOM}/3.5.1"))

    stored, missing = (shelf.versions["3.6.3"].packages.get(os=one) for one in ("linux", "darwin"))
    page = shown(browser_of(None).get(f"{RANDOM}/3.6.3"))
    assert 'provider "registry.opentofu.org/hashicorp/random" {' in page
    assert f'"{stored.zh}",' in page
    assert missing.zh not in page
    assert "It lacks darwin_arm64" in page
    assert "For the lock file" not in shown(browser_of(None).get(f"{RANDOM}/3.7.0"))


def test_what_a_registry_says_is_text_and_never_markup(browser_of, shelf):
    nasty = "<script>alert(1)</script>"
    shelf.provider.warnings = [nasty]
    shelf.provider.save()
    UpstreamVersion.objects.filter(pk=shelf.versions["3.6.3"].pk).update(failure=mirrored.FAILURE | {"message": nasty})

    for url in (RANDOM, f"{RANDOM}/3.6.3"):
        content = browser_of(None).get(url).content.decode()
        assert nasty not in content
        assert "&lt;script&gt;alert" in content


def test_mirrored_providers_appear_next_to_our_own_labelled_with_their_host(browser_of, shelf, charlie):
    for url in ("/providers", "/providers?q=random", "/search?q=random"):
        page = shown(browser_of(charlie).get(url))
        assert RANDOM in page, url
        assert "registry.opentofu.org/" in page
        assert "registry.corp.example" not in page
    assert "3.7.0 held back" in shown(browser_of(charlie).get("/providers"))
    assert RANDOM not in shown(browser_of(charlie).get("/search?q=vpc"))


@pytest.mark.both
def test_words_find_a_provider_by_host_namespace_and_name(browser_of, shelf):
    def found(query):
        page = shown(browser_of(None).get(f"/mirror/providers?{query}"))
        names = ("hashicorp/random", "kreuzwerker/docker", "integrations/github")
        return {name for name in names if f"/mirror/providers/registry.opentofu.org/{name}" in page} | {
            name for name in names if f"/mirror/providers/registry.terraform.io/{name}" in page
        }

    assert found("q=HASHI+ran") == {"hashicorp/random"}
    assert found("q=kreuzwerker/docker") == {"kreuzwerker/docker"}
    assert found("q=terraform.io") == {"integrations/github"}
    assert found("host=registry.terraform.io") == {"integrations/github"}
    assert found("q=nothing") == set()
    assert len(found("host=registry.corp.example")) == 3  # hidden, so no filter


def test_lists_cost_the_same_however_long_they_are(browser_of, shelf, charlie, olga):
    urls = ("/mirror/providers", RANDOM, "/providers", "/search?q=random", "/mirror")
    client, staff = browser_of(charlie), browser_of(olga)
    for number in range(6):  # more than the lists of our own show
        mirrored.provider(shelf.public, f"some{number}/random", ("1.0.0",))
    before = {url: queries_of(client, url) for url in urls}
    staff_before = queries_of(staff, "/mirror")

    for number in range(8):
        row = mirrored.provider(shelf.public, f"more{number}/random", ("1.0.0", "1.1.0"))
        mirrored.verify(row.versions.get(version="1.0.0"), verdict=Verdict.NO_KEY)
    mirrored.provider(shelf.public, numbers=[f"2.{minor}.0" for minor in range(30)])

    assert {url: queries_of(client, url) for url in urls} == before
    assert queries_of(staff, "/mirror") == staff_before
    assert max(before.values()) <= 25


def test_readers_find_the_mirror_and_the_lock_file_in_docs_and_beside_providers(client, db):
    for url in ("/how-to-use", "/providers"):
        page = client.get(url).content.decode()
        assert 'href="/mirror"' in page
        assert 'href="/lock"' in page
    found = client.get("/help?q=lock+file").content.decode()
    assert 'href="/how-to-use#more"' in found
    assert 'href="/api/docs/lock#post_lock"' in found
