"""Larder tells a web server, which remembers the answer, who may read a namespace."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import ApiToken
from apps.contrib.copy.edge import links
from apps.contrib.copy.settings_values import Edge, StaticCopy

URL = "/static-copy/authorise"
SECRET = "a secret of nginx and Larder, 32 characters long"
NOW = datetime(2026, 12, 1, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def edge(settings):
    settings.COPY_EDGE = Edge(60, 24, SECRET)
    settings.HOSTNAMES = frozenset({"registry.test"})


def bounds(answer):
    return {
        name: int(seconds) for name, _, seconds in (part.partition("=") for part in answer["Cache-Control"].split(", "))
    }


def test_bob_may_read_acme_and_charlie_and_strangers_may_not(tofu, bob, charlie):
    answer = tofu(bob).get(URL, {"scope": "acme"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert (answer["X-Larder-Reader"], answer["Vary"]) == (str(bob.pk), "Authorization")
    assert bounds(answer) == {"max-age": 60, "stale-if-error": 24 * 3600}
    refused = {"charlie": tofu(charlie), "anonymous": tofu()}
    statuses = {name: client.get(URL, {"scope": "acme"}).status_code for name, client in refused.items()}
    assert statuses == {"charlie": 403, "anonymous": 401}
    # The same as for what does not exist.
    assert {name: client.get(URL, {"scope": "none"}).status_code for name, client in refused.items()} == statuses


def test_a_refusal_is_remembered_for_a_second_so_that_it_replaces_a_permission(tofu, charlie):
    for client in (tofu(), tofu(charlie)):
        answer = client.get(URL, {"scope": "acme"})
        assert answer["Cache-Control"] == "max-age=1"
        assert "X-Larder-Link" not in answer


def test_no_answer_outlives_the_token(tofu, bob):
    client = tofu(bob)
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(seconds=30))
    found = bounds(client.get(URL, {"scope": "acme"}))
    assert 20 <= found["max-age"] == found["stale-if-error"] <= 30


def test_a_deleted_token_is_refused_at_once(tofu, bob):
    client = tofu(bob)
    assert client.get(URL, {"scope": "acme"}).status_code == 200
    ApiToken.objects.all().delete()
    assert client.get(URL, {"scope": "acme"}).status_code == 401


def test_of_the_mirror_our_own_providers_are_under_their_namespace(tofu, bob):
    answer = tofu(bob).get(URL, {"scope": "registry.test/acme"})
    assert answer.status_code == 200
    assert links.opened_by(
        f"{answer['X-Larder-Link']}/packages/providers/acme/dns/x", now=timezone.now(), secret=SECRET
    )
    assert tofu(bob).get(URL, {"scope": "registry.example.org/acme"}).status_code == 403


@pytest.mark.parametrize("scope", ["", "acme/x/y", "acme secret", "acme\0", "a" * 200, "..", "acme/../x"])
def test_what_is_no_namespace_is_refused(tofu, bob, scope):
    answer = tofu(bob).get(URL, {"scope": scope})
    assert answer.status_code in (403, 404)


def test_without_a_secret_there_are_no_links(tofu, bob, settings):
    settings.COPY_EDGE = Edge(60, 24, "")
    assert "X-Larder-Link" not in tofu(bob).get(URL, {"scope": "acme"})


# --- Links ----------------------------------------------------------------------------------------------------------

PACKAGE = "/packages/modules/acme/vpc/aws/1.0.0.zip"


def test_a_link_stays_the_same_and_opens_packages_of_one_namespace_until_it_ends():
    prefixes = {links.prefix_for("acme", now=NOW + timedelta(hours=hours), secret=SECRET) for hours in range(18)}
    assert len(prefixes) == 1
    for late in (timedelta(), timedelta(hours=18), timedelta(hours=18, minutes=50)):
        prefix = links.prefix_for("acme", now=NOW + late, secret=SECRET)
        for seconds, is_open in ((24 * 3600 + 900, True), (48 * 3600 + 960, False)):
            at = NOW + late + timedelta(seconds=seconds)
            assert (links.opened_by(prefix + PACKAGE, now=at, secret=SECRET) == PACKAGE) is is_open
    prefix = prefixes.pop()
    assert links.opened_by(prefix + PACKAGE.replace("acme", "other"), now=NOW, secret=SECRET) == ""
    assert links.opened_by(prefix + PACKAGE, now=NOW, secret=f"{SECRET}.") == ""
    assert links.opened_by(prefix + PACKAGE, now=NOW, secret="") == ""
    assert links.opened_by(f"{prefix}/v1/modules/acme/vpc/aws/versions", now=NOW, secret=SECRET) == ""


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("/v1/modules/acme/vpc/aws/versions", "acme"),
        ("/packages/providers/acme/dns/1.0.0/x.zip", "acme"),
        ("/v1/mirror/registry.opentofu.org/hashicorp/random/index.json", "registry.opentofu.org/hashicorp"),
        ("/packages/mirror/localhost:8443/acme/dns/1.0.0/x.zip", "localhost:8443/acme"),
        ("/api/v1/modules/acme/vpc/aws/versions", ""),
        ("/v1/modules/acme", ""),
    ],
)
def test_the_scope_of_a_path(path, scope):
    assert links.scope_of(path) == scope


# --- The tree for followers -----------------------------------------------------------------------------------------


@pytest.fixture
def copy(settings, tmp_path):
    settings.STATIC_COPY = StaticCopy(f"file://{tmp_path}")
    for path in ("manifest.dsse", "public/.well-known/terraform.json", "private/v1/modules/acme/vpc/aws/versions"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"0123456789")
    (tmp_path / "public" / ".part").write_bytes(b"unfinished")
    return tmp_path


def test_staff_read_the_tree_with_ranges(tofu, olga, copy):
    client = tofu(olga)
    for path in ("manifest.dsse", "public/.well-known/terraform.json", "private/v1/modules/acme/vpc/aws/versions"):
        whole, rest = (
            client.get(f"/static-copy/tree/{path}"),
            client.get(f"/static-copy/tree/{path}", headers={"Range": "bytes=4-"}),
        )
        assert (whole.status_code, b"".join(whole)) == (200, b"0123456789")
        assert (rest.status_code, rest["Content-Range"], b"".join(rest)) == (206, "bytes 4-9/10", b"456789")


@pytest.mark.parametrize(
    "path", ["public/.part", "manifest/00.json", "../secret_key", "public/../../secret_key", "secret_key"]
)
def test_the_tree_has_nothing_else(tofu, olga, copy, path):
    assert tofu(olga).get(f"/static-copy/tree/{path}").status_code == 404


def test_only_staff_with_a_whole_token_follow(tofu, bob, olga, acme, copy, bearer, client):
    url = "/static-copy/tree/manifest.dsse"
    limited = bearer(olga, namespaces=[acme])
    statuses = [
        tofu().get(url).status_code,
        tofu(bob).get(url).status_code,
        client.get(url, headers=limited).status_code,
    ]
    assert statuses == [401, 403, 403]


def test_a_larder_without_a_copy_has_no_tree(tofu, olga, settings):
    settings.STATIC_COPY = StaticCopy("")
    answer = tofu(olga).get("/static-copy/tree/manifest.dsse")
    assert (answer.status_code, "LARDER_STATIC_COPY_URL" in answer.content.decode()) == (404, True)
