"""end-8: GET /v2/<name>/tags/list, and the catalogue."""

import pytest

from apps.accounts.models import Scope
from apps.artifacts.models import Manifest, Repository, Tag
from apps.oci import registry_tokens
from apps.oci.registry_tokens import Scopes
from tests.oci.manifests.documents import attached, code_of, digest_of, image, package, pages
from tests.rows import for_each_row

MIXED = [f"{'vV_'[number % 3]}{number:03}{'aZ.-'[number % 4]}" for number in range(50)]


@pytest.fixture
def many(repo):
    """50 tags of mixed case, made at once."""
    at = repo()
    at.push(image(), "main")
    row, manifest = Repository.objects.get(), Manifest.objects.get()
    Tag.objects.all().delete()
    Tag.objects.bulk_create([Tag(repository=row, name=name, manifest=manifest) for name in reversed(MIXED)])
    return at


def test_the_list_is_frozen(repo, published, golden):
    for version in ("1.2.0", "1.10.0", "2.0.0-rc.1"):
        published("pantry/vpc/aws", version)
    at = repo()
    at.push(image(), "main")
    at.put(image(), "Beta")

    answer = at.tags()

    assert answer.content == golden("oci/tags.json")
    assert answer.headers["Content-Type"] == "application/json"
    assert "Link" not in answer.headers


@pytest.mark.both
def test_pages_follow_in_the_order_of_bytes_without_doubles(many):
    """Case 23."""
    assert many.tags().json()["tags"] == sorted(MIXED)
    for size, count in ((1, 50), (7, 8), (20, 3), (50, 1), (1_000_000_000, 1)):
        found = [one.json()["tags"] for one in pages(many.client, f"/v2/pantry/vpc/aws/tags/list?n={size}")]
        assert ([name for page in found for name in page], len(found)) == (sorted(MIXED), count)


@pytest.mark.both
def test_last_need_not_exist_and_is_left_out(many):
    tags = sorted(MIXED)
    assert many.tags(f"?last={tags[9]}").json()["tags"] == tags[10:]
    assert many.tags(f"?last={tags[9]}!&n=2").json()["tags"] == tags[10:12]
    assert many.tags("?last=~").json()["tags"] == []
    assert many.tags("?last=%00&n=1").json()["tags"] == tags[:1]
    assert many.tags("?last=").json()["tags"] == tags
    nothing = many.tags("?n=0")
    assert nothing.json()["tags"] == []
    assert "Link" not in nothing.headers


@for_each_row("n", ["-1", "abc", "", "1.5", "٣", "1e3", "9" * 40, "+1", "0x10", "%00"])
def test_a_hostile_number_is_refused(repo, n):
    at = repo()
    at.push(image(), "main")
    assert code_of(at.tags(f"?n={n}")) == (400, "UNSUPPORTED")


def test_a_repository_that_is_not_there_is_unknown(repo, charlie, tofu):
    repo("acme/vpc/aws").push(image(), "main")

    assert code_of(repo("pantry/vpc/aws").tags()) == (404, "NAME_UNKNOWN")
    assert code_of(repo("acme/vpc/aws", charlie).tags()) == (404, "NAME_UNKNOWN")
    assert code_of(repo("acme/vpc").tags()) == (404, "NAME_UNKNOWN")
    assert tofu(None).get("/v2/acme/vpc/aws/tags/list").status_code == 401


def test_a_list_costs_the_same_at_any_length(many, repo, django_assert_max_num_queries):
    for client in (many, repo("pantry/vpc/aws")):
        with django_assert_max_num_queries(5):  # token, gate, repository, tags, versions
            client.tags()


# --- What a tag means (case 21) ---------------------------------------------------------------------------------------


@for_each_row("tag", ["v1.2.0", "1.2", "01.2.3", "main", "a" * 128, "1.2.0.4", "_1.2.0"])
def test_a_tag_that_is_no_strict_version_is_stored_and_not_published(repo, tag):
    """Case 21."""
    at = repo()
    at.blob(b"{}")
    at.blob(b"no zip, and nobody looks")

    answer = at.put(package(b"no zip, and nobody looks"), tag)

    assert answer.status_code == 201
    assert answer.headers["Warning"].startswith(f'299 - "{tag}: not a strict semantic version')
    assert len(answer.headers["Warning"]) < 4096
    assert at.tags().json()["tags"] == [tag]
    assert at.client.get("/v1/modules/pantry/vpc/aws/versions").status_code == 404


@for_each_row("tag", ["1.2.0", "1.2.0-rc.1", "1.2.0_build.5"])
def test_a_version_is_for_module_packages_alone(repo, tag):
    at = repo()
    at.blob(b"{}")

    answer = at.put(image(), tag)

    assert code_of(answer) == (400, "MANIFEST_INVALID")
    assert "only a module package" in answer.json()["errors"][0]["message"]
    assert not Manifest.objects.exists()
    assert code_of(at.put(image(), query=f"?tag=main&tag={tag}")) == (400, "MANIFEST_INVALID")
    assert not Tag.objects.exists()


def test_signatures_are_stored_untouched_and_are_no_release(repo, published):
    """Case 25, cosign both ways: by a tag, and as a bundle that names its subject."""
    published("pantry/vpc/aws", "1.2.0")
    at = repo()
    release = at.get("1.2.0")
    hexdigits = release.headers["Docker-Content-Digest"].partition(":")[2]
    bundle = attached(release.content, "application/vnd.dev.sigstore.bundle.v0.3+json")

    for suffix in ("", ".sig", ".att", ".sbom"):
        raw = image(annotations={"kind": suffix})
        at.push(raw, f"sha256-{hexdigits}{suffix}")
        assert at.get(f"sha256-{hexdigits}{suffix}").content == raw
    at.push(bundle)

    (listed,) = at.client.get("/v1/modules/pantry/vpc/aws/versions").json()["modules"][0]["versions"]
    assert listed["version"] == "1.2.0"
    assert [one["digest"] for one in at.referrers(f"sha256:{hexdigits}").json()["manifests"]] == [digest_of(bundle)]
    assert len(at.tags().json()["tags"]) == 6


# --- The catalogue ----------------------------------------------------------------------------------------------------


@pytest.mark.both
def test_the_catalogue_shows_what_one_may_see(repo, published, bob, charlie, tofu, client):
    published("acme/vpc/aws", "1.0.0")
    repo("acme/other/aws").push(image(), "main")
    repo("pantry/dns/aws").push(image(), "main")
    repo("hall/net/aws").push(image(), "main")
    anonymous = {"Authorization": f"Bearer {registry_tokens.issue(None, Scopes(catalog=True))}"}

    def seen(user):
        return tofu(user, Scope.READ).get("/v2/_catalog").json()["repositories"]

    assert seen(bob) == ["acme/other/aws", "acme/vpc/aws", "hall/net/aws", "pantry/dns/aws"]
    assert seen(charlie) == ["hall/net/aws", "pantry/dns/aws"]
    assert client.get("/v2/_catalog", headers=anonymous).json() == {"repositories": ["pantry/dns/aws"]}
    assert client.get("/v2/_catalog").status_code == 401
    page = tofu(bob, Scope.READ).get("/v2/_catalog?n=2")
    assert page.json()["repositories"] == ["acme/other/aws", "acme/vpc/aws"]
    assert page.headers["Link"] == '</v2/_catalog?n=2&last=acme%2Fvpc%2Faws>; rel="next"'
