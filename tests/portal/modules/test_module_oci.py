"""A version's page and its OCI package."""

import html

from apps.releases.models import Release
from tests.portal.rows import add_module


def test_the_digest_on_the_page_is_the_one_that_is_served_and_a_yanked_version_hides_it(client, published):
    published("pantry/vpc/aws", "1.2.0+build.5")
    served = client.get("/v2/pantry/vpc/aws/manifests/1.2.0_build.5").headers["Docker-Content-Digest"]

    page = html.unescape(client.get("/modules/pantry/vpc/aws/1.2.0+build.5").text)

    digests = client.get("/modules/pantry/vpc/aws/1.2.0+build.5/origin").text
    assert f'<span class="copyable__text">{served.removeprefix("sha256:")}</span>' in digests
    assert '/pantry/vpc/aws?tag=1.2.0_build.5"' in page
    assert "sign in over OCI" not in page
    Release.objects.update(lifecycle="yanked", lifecycle_reason="It leaks.")
    page = client.get("/modules/pantry/vpc/aws/1.2.0+build.5").text
    assert page.index("Show the block anyway") < page.index("oci://")


def test_a_private_module_says_that_oci_has_credentials_of_its_own(browser_of, bob, acme):
    add_module(acme, "vpc/aws", "1.2.0")

    page = browser_of(bob).get("/modules/acme/vpc/aws/1.2.0").text

    assert 'href="/how-to-use#oci">sign in over OCI</a>' in page
