"""Two versions of a provider side by side: each rule, in the API and on the page."""

import pytest

from apps.providers.comparing import SENTENCES
from tests.builders.keys import signing_key
from tests.house import sources
from tests.protocol.providers import cast

URL = "/api/v1/providers/acme/dns/compare/{}"
PAGE = "/providers/acme/dns/compare/1.0.0...1.1.0"
RULES = {
    "platform_removed": "breaking",
    "platform_added": "compatible",
    "protocol_removed": "breaking",
    "protocol_added": "compatible",
    "protocol_changed": "compatible",
    "key_replaced": "risky",
    "signer_changed": "risky",
    "docs_removed": "risky",
    "docs_added": "compatible",
    "docs_changed": "compatible",
    "guide_removed": "compatible",
    "all_docs_removed": "risky",
}


def docs(version, **texts):
    for path, html in texts.items():
        kind, slug = path.split("__")
        link = f'<a href="/providers/acme/dns/{version.release.version}/docs/guides/start">Start</a>'
        version.docs_pages.create(kind=kind, slug=slug, name=f"dns_{slug}", html=html + link)


@pytest.fixture
def two(acme):
    first = cast.add_key(acme, signing_key("ed25519"), custody="publisher")
    second = cast.frozen_key(acme)
    before = cast.add_version(first, None, "dns", "1.0.0", ("linux_amd64", "windows_amd64"))
    after = cast.add_version(second, None, "dns", "1.1.0", ("linux_amd64", "darwin_arm64"))
    before.protocols, after.protocols = ["4.1", "5.0"], ["5.2", "6.0"]
    before.save()
    after.save()
    docs(before, resources__record="<b>", resources__zone="zone", guides__old="old", resources__same="same")
    docs(after, resources__record="other", functions__parse="new", resources__same="same")
    return before, after


def test_each_rule_finds_its_change(two, tofu, bob, django_assert_max_num_queries):
    with django_assert_max_num_queries(14):
        said = tofu(bob).get(URL.format("1.0.0...1.1.0")).json()

    assert (said["severity"], said["step"], said["is_said"]) == ("breaking", "minor", False)
    found = {one["rule"]: (one["name"], one["severity"]) for one in said["changes"]}
    assert found == {
        "platform_removed": ("windows_amd64", "breaking"),
        "platform_added": ("darwin_arm64", "compatible"),
        "protocol_removed": ("4", "breaking"),
        "protocol_added": ("6", "compatible"),
        "protocol_changed": ("5", "compatible"),
        "key_replaced": ("A" * 16, "risky"),
        "signer_changed": ("A" * 16, "risky"),
        "docs_removed": ("dns_zone", "risky"),
        "docs_added": ("dns_parse", "compatible"),
        "docs_changed": ("dns_record", "compatible"),  # dns_same has a link to its own version, and is the same
        "guide_removed": ("dns_old", "compatible"),
    }
    assert "- `windows_amd64`: platform removed" in said["markdown"]


def test_a_version_without_documentation_says_so_once_and_equal_versions_differ_in_nothing(two, tofu, bob):
    two[1].docs_pages.all().delete()
    said = tofu(bob).get(URL.format("1.0.0...1.1.0")).json()["changes"]
    assert [(one["rule"], one["before"]) for one in said if one["kind"] == "docs"] == [("all_docs_removed", "4 pages")]

    said = tofu(bob).get(URL.format("1.0.0...1.0.0")).json()
    assert (said["severity"], said["changes"], said["step"], said["is_said"]) == ("compatible", [], None, True)


def test_what_names_no_two_versions_or_one_in_quarantine_is_not_found(two, tofu, bob):
    for asked in ("1.0.0", "1.0.0...9.9.9", "..."):
        assert tofu(bob).get(URL.format(asked)).status_code in (404, 422), asked
    release = two[0].release
    release.quarantined_at = release.published_at
    release.save()

    assert tofu(bob).get(URL.format("1.0.0...1.1.0")).status_code == 404


def test_the_page_shows_the_same_and_the_list_leads_there(two, browser_of, bob):
    client = browser_of(bob)
    page = client.get(PAGE)
    listed = client.get("/providers/acme/dns/versions").content.decode()
    form = client.get("/providers/acme/dns/compare", {"from": "1.0.0", "to": "1.1.0"})

    assert page.context["found"].changes
    assert "Contains breaking changes, but is not a major version" in page.content.decode()
    assert 'action="/providers/acme/dns/compare"' in listed
    assert (form.status_code, form.url) == (302, PAGE)


def test_the_page_of_rules_has_each_with_its_severity():
    page = (sources.CHECKOUT / "docs/version-guard.md").read_text()

    assert RULES.keys() == SENTENCES.keys()
    assert all(f"| `{rule}` | {severity} | {SENTENCES[rule]} |" in page for rule, severity in RULES.items())
