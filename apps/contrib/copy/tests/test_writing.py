"""What the writer leaves in a folder, whatever changes and whatever dies when."""

import json
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Visibility
from apps.audit.kinds import Kind
from apps.blobs import store
from apps.contrib.copy.models import Copy, Due, Written
from apps.contrib.copy.settings_values import StaticCopy
from apps.contrib.copy.tree import layout
from apps.contrib.copy.tree.folders import Folder
from apps.contrib.copy.tree.layout import Address, Rank
from apps.contrib.copy.writing import following
from apps.jobs.models import Job
from apps.releases.lifecycle import verbs
from tests.protocol.providers import cast
from tests.rows import for_each_row

VPC = "v1/modules/acme/vpc/aws"
ZIP = "packages/modules/acme/vpc/aws/1.2.0.zip"


def numbers(tree: Path, side: str = "private", place: str = VPC) -> list[str]:
    document = json.loads((tree / side / place / "versions").read_bytes())
    return [one["version"] for one in document["modules"][0]["versions"]]


def test_a_module_is_written_with_its_bytes_as_hard_links(published, tree, follow, files):
    release = published()

    follow()

    assert files("private") == [ZIP, f"{VPC}/1.2.0/download", f"{VPC}/versions"]
    assert files("public") == [".well-known/terraform.json"]
    location = json.loads((tree / "private" / VPC / "1.2.0/download").read_bytes())["location"]
    assert location == f"/{ZIP}?checksum=sha256:{release.digest}"
    assert (tree / "private" / ZIP).stat().st_nlink == 2
    assert numbers(tree) == ["1.2.0"]


def test_private_bytes_stay_closed_to_other_users_of_the_host(acme, published, tree, follow):
    """A link has the mode of the blob, in a store whose folder may be open to all."""
    release = published()
    blob = store.path_of(release.digest)
    assert blob is not None

    follow()

    closed = [path for path in (tree / "private").rglob("*") if path.is_file()] + [*(tree / "manifest").glob("*.json")]
    assert len(closed) > 3
    assert {path.stat().st_mode & 0o777 for path in closed} == {0o440}
    assert blob.stat().st_mode & 0o007 == 0

    acme.visibility = Visibility.PUBLIC
    acme.save(update_fields=["visibility"])
    Due.objects.create(scope="everything")
    follow()

    assert (tree / "public" / ZIP).stat().st_mode & 0o777 == 0o444


def test_a_provider_is_written_for_the_registry_and_for_the_mirror(acme, tree, follow, files):
    key = cast.frozen_key(acme)
    cast.add_version(key, None, "dns", "1.2.0", ["linux_amd64"])

    follow()

    zip_name = "terraform-provider-dns_1.2.0_linux_amd64.zip"
    assert files("private") == [
        *(f"packages/providers/acme/dns/1.2.0/terraform-provider-dns_1.2.0_{one}" for one in ("SHA256SUMS",)),
        "packages/providers/acme/dns/1.2.0/terraform-provider-dns_1.2.0_SHA256SUMS.sig",
        f"packages/providers/acme/dns/1.2.0/{zip_name}",
        "v1/mirror/registry.test/acme/dns/1.2.0.json",
        "v1/mirror/registry.test/acme/dns/index.json",
        "v1/providers/acme/dns/1.2.0/download/linux/amd64",
        "v1/providers/acme/dns/versions",
    ]
    document = json.loads((tree / "private/v1/providers/acme/dns/1.2.0/download/linux/amd64").read_bytes())
    assert document["download_url"] == f"/packages/providers/acme/dns/1.2.0/{zip_name}"
    assert document["signing_keys"]["gpg_public_keys"][0]["key_id"] == key.key_id
    mirrored = json.loads((tree / "private/v1/mirror/registry.test/acme/dns/1.2.0.json").read_bytes())
    assert mirrored["archives"]["linux_amd64"]["url"] == document["download_url"]


def test_a_change_writes_one_address_one_shard_and_the_root_alone(published, tree, follow, monkeypatch):
    published()
    published("acme/eks/aws", "1.0.0")
    follow()
    written: list[str] = []
    put = Folder.put

    def noted(self, files, **more):
        written.extend(path for path, _ in files)
        put(self, files, **more)

    monkeypatch.setattr(Folder, "put", noted)

    published("acme/vpc/aws", "1.3.0")
    follow()

    address = Written.objects.get(address="modules/acme/vpc/aws")
    assert written == [
        "private/packages/modules/acme/vpc/aws/1.3.0.zip",
        f"private/{VPC}/1.3.0/download",
        f"private/{VPC}/versions",
        f"manifest/{address.shard}/{Address.parse(address.address).digest}.json",
        f"manifest/{address.shard}.json",
    ]


def test_what_becomes_private_leaves_the_public_side_first(published, acme, tree, follow, files, monkeypatch):
    acme.visibility = Visibility.PUBLIC
    acme.save()
    published()
    follow()
    assert ZIP in files("public")
    acme.visibility = Visibility.PRIVATE
    acme.save()
    Due.objects.create(scope="namespace acme")
    seen = []
    put = Folder.put

    def noted(self, written, **more):
        seen.append(files("public"))
        put(self, written, **more)

    monkeypatch.setattr(Folder, "put", noted)

    follow()

    assert seen[0] == [".well-known/terraform.json"]
    assert ZIP in files("private")


def test_a_version_that_is_yanked_leaves_the_list_and_stays_to_be_fetched(published, tree, follow, olga):
    release = published()
    follow()

    verbs.yank(release=release, actor=Viewer(olga), reason="Wrong.")
    follow()

    assert numbers(tree) == []
    assert (tree / "private" / ZIP).exists()


def test_a_quarantine_takes_the_same_bytes_from_every_namespace(published, pantry, tree, follow, files, olga):
    release = published()
    published("pantry/vpc/aws", "9.0.0", data=b"".join(store.read(release.digest)))
    follow()
    assert "packages/modules/pantry/vpc/aws/9.0.0.zip" in files("public")

    verbs.quarantine(release=release, actor=Viewer(olga), reason="It holds a key.")
    follow()

    assert files("private") == []
    assert "packages/modules/pantry/vpc/aws/9.0.0.zip" not in files("public")
    assert numbers(tree, "public", "v1/modules/pantry/vpc/aws") == []


def test_a_copy_is_written_anew_where_changes_may_have_been_missed(tree, follow, settings, db):
    follow()
    following.tick()
    assert not Due.objects.exists()

    Copy.objects.update(followed_at=timezone.now() - 2 * following.UNWATCHED)
    following.tick()
    assert [row.scope for row in Due.objects.all()] == ["everything"]
    Due.objects.all().delete()

    settings.HOSTNAMES = frozenset({"other.test"})
    following.tick()
    assert [row.scope for row in Due.objects.all()] == ["everything"]


def test_what_changes_with_time_is_written_when_the_time_has_come(published, acme, tree, follow, time_machine):
    acme.cooldown_hours = 2
    acme.save()
    published()
    follow()
    assert numbers(tree) == []
    assert not (tree / "private" / ZIP).exists()

    time_machine.move_to(timezone.now() + timedelta(hours=3))
    follow()

    assert numbers(tree) == ["1.2.0"]
    assert (tree / "private" / ZIP).exists()


def test_a_change_rings_for_a_job_once_it_is_committed(settings, tmp_path, acme, django_capture_on_commit_callbacks):
    settings.STATIC_COPY = StaticCopy(f"file://{tmp_path}/copy")
    with django_capture_on_commit_callbacks(execute=True):
        Viewer(None).record(Kind.NAMESPACE_CHANGED, subject="acme")
        Viewer(None).record(Kind.NAMESPACE_CHANGED, subject="acme")

    assert [row.scope for row in Due.objects.all()] == ["namespace acme", "namespace acme"]
    assert list(Job.objects.values_list("kind", "target")) == [(following.JOB, 0), (following.JOB, 1)]


@for_each_row(
    ("place", "rank"),
    [
        ("packages/modules/acme/vpc/aws/1.2.0.zip", Rank.BYTES),
        ("packages/providers/acme/dns/1.0.0/x_SHA256SUMS", Rank.SUMS),
        ("packages/providers/acme/dns/1.0.0/x_SHA256SUMS.sig", Rank.SIGNATURE),
        ("v1/modules/acme/vpc/aws/1.2.0/download", Rank.DOWNLOAD),
        ("v1/mirror/host.test/acme/dns/1.0.0.json", Rank.DOWNLOAD),
        ("v1/mirror/host.test/acme/dns/index.json", Rank.LIST),
        ("v1/modules/acme/vpc/aws/versions", Rank.LIST),
    ],
)
def test_each_place_has_its_turn(place, rank):
    assert layout.rank_of(place) == rank
    assert layout.is_place(place)


@for_each_row("text", ["../etc/passwd", "v1//x", "v1/../x", "public/v1/x", "v1/.hidden", "packages/x\n", "/v1/x", ""])
def test_no_place_leads_out_of_the_tree(text):
    assert not layout.is_place(text)
