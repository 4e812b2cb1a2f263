"""Releases in their cool-down: no list names them, and an exact download is refused with the date."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.blobs import capabilities
from apps.http import ready
from apps.releases.models import Release
from tests.builders.archives import module_zip
from tests.oci.manifests.documents import Repo
from tests.protocol.providers.cast import add_version, frozen_key
from tests.rows import for_each_row

pytestmark = pytest.mark.django_db
HOST = "registry.acme.example"
MODULE = "/v1/modules/pantry/vpc/aws"
PROVIDER = "/v1/providers/pantry/dns"
MIRROR = f"/v1/mirror/{HOST}/pantry/dns"


@pytest.fixture(autouse=True)
def hostnames(settings):
    settings.HOSTNAMES = frozenset({HOST})


def in_hours(hours):
    return timezone.now() + timedelta(hours=hours)


@pytest.fixture
def module(published):
    """1.0.0, and 1.2.0 in its cool-down."""
    published("pantry/vpc/aws", "1.0.0")
    release = published("pantry/vpc/aws", "1.2.0")
    Release.objects.filter(pk=release.pk).update(visible_at=in_hours(5))
    release.refresh_from_db()
    return release


@pytest.fixture
def provider(pantry):
    key = frozen_key(pantry)
    add_version(key, None, "dns", "1.0.0")
    return add_version(key, None, "dns", "1.2.0", visible_at=in_hours(5)).release


def show(release):
    Release.objects.filter(pk=release.pk).update(visible_at=timezone.now() - timedelta(seconds=1))


def seconds_of(response):
    found = ready.ready_of(response)
    assert found is not None
    return found.seconds


def refused(response, release, name):
    """403 in the dialect of the edge, with the date."""
    assert response.status_code == 403, response.content
    (error,) = response.json()["errors"]
    sentence = error if isinstance(error, str) else error["message"]
    assert sentence == (
        f"{name} 1.2.0 is in its cool-down: clients can fetch it from {release.visible_at:%Y-%m-%d %H:%M} UTC on. "
        "An owner of the namespace can end the cool-down."
    )
    assert ready.ready_of(response) is None, "nobody repeats it"
    return error


# --- Modules ----------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_modules_v1_name_it_once_the_time_has_come(tofu, module):
    client = tofu()

    def listed():
        document = client.get(f"{MODULE}/versions").json()["modules"][0]
        found = [one["version"] for one in document["versions"]]
        latest = client.get(MODULE).json()
        assert (latest["version"], set(latest["versions"])) == (found[0], set(found))
        assert client.get(f"{MODULE}/download").headers["Location"].endswith(f"/{found[0]}/download")
        return found

    assert listed() == ["1.0.0"]
    refused(client.get(f"{MODULE}/1.2.0/download"), module, "pantry/vpc/aws")
    assert client.get(f"{MODULE}/1.0.0/download").status_code == 200
    Release.objects.filter(pk=module.pk).update(lifecycle="yanked", lifecycle_reason="Broken.")
    assert client.get(f"{MODULE}/1.2.0/download").status_code == 403
    Release.objects.filter(pk=module.pk).update(lifecycle="maintained")

    show(module)

    assert listed() == ["1.2.0", "1.0.0"]
    assert client.get(f"{MODULE}/1.2.0/download").status_code == 200


def test_a_module_that_is_all_held_back_has_an_empty_list_and_no_latest(tofu, module):
    Release.objects.filter(version="1.0.0").update(visible_at=in_hours(1))
    repo = Repo(tofu(), "pantry/vpc/aws")

    assert tofu().get(f"{MODULE}/versions").json()["modules"][0]["versions"] == []
    assert repo.get("latest").status_code == 404
    assert repo.tags().json()["tags"] == []


def test_strangers_do_not_learn_that_a_release_is_in_its_cool_down(tofu, charlie, published):
    release = published("acme/vpc/aws", "1.2.0")
    Release.objects.filter(pk=release.pk).update(visible_at=in_hours(5))

    assert tofu(charlie).get("/v1/modules/acme/vpc/aws/1.2.0/download").status_code == 404
    assert tofu().get("/v1/modules/acme/vpc/aws/1.2.0/download").status_code == 401


# --- Providers --------------------------------------------------------------------------------------------------------


def test_the_list_of_a_provider_warns_of_what_is_held_back_which_clients_print_where_no_version_matches(tofu, provider):
    said = tofu().get(f"{PROVIDER}/versions").json()["warnings"]
    date = f"{provider.visible_at:%Y-%m-%d %H:%M} UTC"
    assert said == [f"version 1.2.0 is in its cool-down: clients can install it from {date} on"]
    show(provider)
    assert tofu().get(f"{PROVIDER}/versions").json()["warnings"] == []


def test_providers_v1_and_the_mirror_list_it_once_the_time_has_come(tofu, provider):
    client = tofu()
    package = f"{PROVIDER}/1.2.0/download/linux/amd64"

    def listed():
        found = [one["version"] for one in client.get(f"{PROVIDER}/versions").json()["versions"]]
        assert list(client.get(f"{MIRROR}/index.json").json()["versions"]) == found
        return found

    assert listed() == ["1.0.0"]
    refused(client.get(package), provider, "pantry/dns")
    refused(client.get(f"{MIRROR}/1.2.0.json"), provider, "pantry/dns")
    assert client.get(f"{MIRROR}/1.0.0.json").json()["archives"]
    latest = client.get(PROVIDER).json()
    assert (latest["version"], latest["versions"]) == ("1.0.0", ["1.0.0"])

    show(provider)

    assert listed() == ["1.2.0", "1.0.0"]
    assert client.get(package).status_code == 200
    assert client.get(f"{MIRROR}/1.2.0.json").json()["archives"]


# --- OCI --------------------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_oci_tags_of_a_module_lead_there_once_the_time_has_come(tofu, module):
    repo = Repo(tofu(), "pantry/vpc/aws")
    old = repo.get("1.0.0")
    assert repo.tags().json()["tags"] == ["1.0.0", "latest"]
    error = refused(repo.get("1.2.0"), module, "pantry/vpc/aws")
    assert error["code"] == "DENIED"
    assert repo.head("1.2.0").status_code == 403
    assert repo.get("latest").content == old.content

    show(module)

    assert repo.tags().json()["tags"] == ["1.0.0", "1.2.0", "latest"]
    assert repo.get("1.2.0").status_code == 200
    assert repo.get("latest").content != old.content


def test_another_tag_on_its_manifest_leads_nowhere_either(tofu, alice, module):
    pusher = Repo(tofu(alice), "pantry/vpc/aws")
    show(module)
    manifest = pusher.get("1.2.0")
    pusher.push(manifest.content, "stable", module_zip(comment=b"1.2.0"))
    assert "stable" in pusher.tags().json()["tags"]

    Release.objects.filter(pk=module.pk).update(visible_at=module.visible_at)

    assert pusher.tags().json()["tags"] == ["1.0.0", "latest"]
    refused(pusher.get("stable"), module, "pantry/vpc/aws")
    digest = manifest.headers["Docker-Content-Digest"]
    assert pusher.get(digest).status_code == 200, "a digest chooses no version"


def test_the_oci_mirror_leads_there_once_the_time_has_come(tofu, provider):
    mirror = Repo(tofu(), f"providers/{HOST}/pantry/dns")
    assert mirror.tags().json()["tags"] == ["1.0.0"]
    assert refused(mirror.get("1.2.0"), provider, "pantry/dns")["code"] == "DENIED"

    show(provider)

    assert mirror.tags().json()["tags"] == ["1.0.0", "1.2.0"]
    assert mirror.get("1.2.0").status_code == 200


# --- Ready answers (D16) ----------------------------------------------------------------------------------------------


@pytest.mark.both
@for_each_row(
    "path",
    [
        f"{MODULE}/versions",
        MODULE,
        f"{MODULE}/1.0.0",
        f"{PROVIDER}/versions",
        PROVIDER,
        f"{PROVIDER}/1.0.0",
        f"{MIRROR}/index.json",
        "/v2/pantry/vpc/aws/tags/list",
        "/v2/pantry/vpc/aws/manifests/latest",
        f"/v2/providers/{HOST}/pantry/dns/tags/list",
    ],
)
def test_ready_answers_end_when_a_release_becomes_visible(tofu, module, provider, path, monkeypatch):
    # Links in answers change every five minutes, when the answers end as well.
    monkeypatch.setattr(capabilities, "same_until", lambda moment: moment + timedelta(minutes=5))
    client = tofu()
    if path.startswith("/v2/"):
        client = Repo(tofu(), path.removeprefix("/v2/").rpartition("/tags")[0] or "pantry/vpc/aws").client
    assert seconds_of(client.get(path)) == ready.LONGEST
    Release.objects.filter(version="1.2.0").update(visible_at=timezone.now() + timedelta(seconds=20))

    assert 0 < seconds_of(client.get(path)) <= 20


def test_lists_cost_no_more_queries_than_before(tofu, module, provider, django_assert_num_queries):
    client = tofu()
    for path in (f"{MODULE}/versions", f"{PROVIDER}/versions", f"{MIRROR}/index.json"):
        with django_assert_num_queries(2):
            assert json.loads(client.get(path).content)
