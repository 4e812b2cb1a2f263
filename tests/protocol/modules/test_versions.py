import json
from datetime import UTC, datetime

import pytest

from apps.releases.models import Release
from tests.rows import for_each_row

URL = "/v1/modules/acme/vpc/aws/versions"


@pytest.fixture
def vpc(published):
    for version in ("1.2.0", "2.0.0-rc.1", "1.10.0", "2.0.0-rc.1.1", "1.9.9", "2.0.0+b1"):
        published("acme/vpc/aws", version)


def test_versions_document_is_frozen_and_costs_three_queries(tofu, bob, vpc, golden, django_assert_num_queries):
    """The tofu CLI parses this. Changing a byte needs a reason in the commit."""
    Release.objects.update(published_at=datetime(2026, 1, 2, 3, 4, 5, 60000, tzinfo=UTC))
    client = tofu(bob)
    with django_assert_num_queries(3):  # token, gate, versions
        response = client.get(URL)

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert response.headers["Vary"] == "Authorization"
    assert not {"Set-Cookie", "Content-Encoding"} & set(response.headers)
    assert response.content == golden("modules_v1/versions.json")


def test_where_nothing_is_public_no_spelling_helps_and_nobody_is_told_so(tofu, acme):
    response = tofu().get("/v1/modules/acmx/vpc/aws/versions")

    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="Larder"'
    assert "spelling" not in response.content.decode()


@pytest.mark.both
@for_each_row("path", ["acme/other/aws", "acme/vpc/gcp", "acme/VPC/aws", "acme/vpc/AWS", "ACME/vpc/aws"])
def test_an_unknown_name_in_a_visible_namespace_is_404_also_in_another_case(tofu, bob, published, path):
    published("acme/vpc/aws", "1.0.0")
    response = tofu(bob).get(f"/v1/modules/{path}/versions")

    assert response.status_code == 404
    assert list(json.loads(response.content)) == ["errors"]


def test_session_cookies_do_not_count(browser_of, bob, published, django_assert_num_queries):
    published("acme/vpc/aws", "1.0.0")
    browser = browser_of(bob)
    with django_assert_num_queries(2):  # the gate, and whether anything is public: not the session
        response = browser.get(URL)

    assert response.status_code == 401
    assert "Cookie" not in response.headers.get("Vary", "")


def test_an_upload_that_is_not_published_is_not_listed(tofu, alice, published):
    published("acme/vpc/aws", "1.0.0")
    published("acme/vpc/aws", "1.1.0", data=b"this is no zip")

    versions = json.loads(tofu(alice).get(URL).content)["modules"][0]["versions"]
    assert [one["version"] for one in versions] == ["1.0.0"]
    assert tofu(alice).get("/v1/modules/acme/vpc/aws/1.1.0/download").status_code == 404
