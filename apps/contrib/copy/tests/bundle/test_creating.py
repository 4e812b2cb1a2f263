"""What is chosen, what is left out, and what stops a bundle from being made."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.contrib.copy import signing
from apps.contrib.copy.bundle import collecting, selecting, writing
from apps.contrib.copy.bundle.models import Bundle
from apps.contrib.copy.bundle.selecting import Selection
from apps.contrib.copy.tests.bundle.conftest import sign_all
from apps.http import mirrors
from apps.lib.errors import Invalid, NotFound, Unavailable
from apps.lib.formats import lock_files
from apps.lib.mirrored import HostedProvider, MirroredCopy, MirroredPackage, MirroredProof
from apps.releases.models import Release

LOCK = """provider "{host}/{name}" {{
  version = "{version}"
  hashes = ["zh:{digest}"]
}}
"""


@pytest.fixture
def several(published: Any) -> None:
    published("acme/vpc/aws", "1.0.0")
    published("acme/vpc/aws", "1.2.0")
    published("pantry/jam/aws", "1.0.0")


@pytest.fixture
def signer(worker_host: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "sleep", lambda _: sign_all())


def lock(host: str, name: str, version: str) -> lock_files.LockFile:
    return lock_files.parse_lock(LOCK.format(host=host, name=name, version=version, digest="0" * 64))


def chosen(selection: Selection) -> list[str]:
    return [str(one) for one in selecting.chosen(selection)]


def test_everything_or_some_namespaces_are_chosen(several):
    everything = ["acme/vpc/aws 1.0.0", "acme/vpc/aws 1.2.0", "pantry/jam/aws 1.0.0"]

    assert chosen(Selection()) == everything
    assert chosen(Selection(namespaces=["Acme"])) == everything[:2]
    with pytest.raises(NotFound, match="no namespace 'acne'"):
        chosen(Selection(namespaces=["acne"]))


def test_versions_of_a_day_and_later_are_chosen(several):
    Release.objects.filter(version="1.0.0").update(published_at=datetime(2020, 1, 1, tzinfo=UTC))

    found = chosen(Selection(namespaces=["acme"], published_from=datetime(2021, 1, 1, tzinfo=UTC)))

    assert found == ["acme/vpc/aws 1.2.0"]


def test_versions_in_their_cool_down_stay(several):
    release = Release.objects.get(version="1.2.0")
    Release.objects.filter(pk=release.pk).update(visible_at=datetime(2090, 1, 1, tzinfo=UTC))

    assert str(release) not in chosen(Selection())


def test_a_locked_provider_that_is_not_here_is_named(several):
    with pytest.raises(NotFound, match=r"names 127\.0\.0\.1/acme/dns 1\.0\.0, which is not stored here"):
        chosen(Selection(locks=[lock("127.0.0.1", "acme/dns", "1.0.0")]))
    with pytest.raises(NotFound, match=r"names registry\.example\.org/acme/dns 1\.0\.0, which is not stored here"):
        list(selecting.mirrored(Selection(locks=[lock("registry.example.org", "acme/dns", "1.0.0")])))


def test_a_locked_provider_of_another_registry_is_carried_as_it_is_mirrored(db, monkeypatch):
    package = MirroredPackage(
        "linux", "amd64", "terraform-provider-dns_1.0.0_linux_amd64.zip", "1" * 64, 7, "", "", True
    )

    class Others:
        def copied(self, provider: HostedProvider) -> MirroredCopy:
            assert str(provider) == "registry.example.org/acme/dns"
            return MirroredCopy([("2.0.0", [package]), ("1.0.0", [package])], is_public=True, seconds=60)

        def proof(self, *_: object) -> MirroredProof:
            platforms = {package.filename: (package.os, package.arch)}
            return MirroredProof(b"the sums", b"signed", [("a key", "")], platforms, ["5.0"], None, "public")

    monkeypatch.setattr(mirrors, "others", Others())
    selection = Selection(locks=[lock("registry.example.org", "acme/dns", "1.0.0")])

    found = collecting.collect(selecting.chosen(selection), selecting.mirrored(selection))

    (item,) = found.items
    assert (item.kind, str(item), item.name) == (
        "mirror",
        "registry.example.org/acme/dns 1.0.0",
        "registry.example.org/acme/dns:1.0.0",
    )
    assert found.stored == {f"sha256:{'1' * 64}": 7}
    sums = "terraform-provider-dns_1.0.0_SHA256SUMS"
    assert [*item.files] == [package.filename, sums, f"{sums}.sig", f"{sums}.json"]
    assert [found.made[item.files[name]] for name in (sums, f"{sums}.sig")] == [b"the sums", b"signed"]


def test_what_has_bytes_in_quarantine_is_not_carried(several):
    """The same bytes may have been published under two names."""
    first, second, _ = Release.objects.order_by("pk")
    Release.objects.filter(pk=first.pk).update(quarantined_at=first.published_at, digest=second.digest)

    found = collecting.collect(selecting.chosen(Selection(namespaces=["acme"])), ())

    assert [(str(one), one.state) for one in found.items] == [("acme/vpc/aws 1.0.0", "quarantined")]
    assert found.stored == {}


def test_the_plan_says_licences_and_bytes_and_writes_nothing(several, capsys, stored_files):
    before = stored_files()

    call_command("bundle", "plan", "--namespace", "acme")

    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["unknown: 2 versions", "  acme/vpc/aws"]
    assert said[2].startswith("2 of 2 versions to carry, ")
    assert (stored_files(), Bundle.objects.count()) == (before, 0)


def test_a_bundle_is_made_by_the_command(several, signer, tmp_path, capsys):
    call_command("bundle", "create", str(tmp_path / "b"), "--namespace", "acme", "--part-size", "1M")

    bundle = Bundle.objects.get()
    assert capsys.readouterr().out.splitlines() == [
        str(tmp_path / "b" / "part-001"),
        f"{bundle.root} signed by {bundle.key_id}",
    ]
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o700


def test_nothing_is_known_of_a_root_that_was_not_made_here(several):
    with pytest.raises(NotFound, match="No bundle sha256:00 was made here"):
        writing.plan(Selection(), since="sha256:00")


def test_nothing_chosen_is_refused(acme):
    with pytest.raises(NotFound, match="Nothing was chosen"):
        writing.plan(Selection(namespaces=["acme"]))


def test_a_file_that_is_larger_than_a_part_is_named(several, signer, tmp_path):
    with pytest.raises(Invalid, match=r"sha256:\w+ has .+: it does not fit into a part of 100 bytes"):
        writing.create(tmp_path / "b", Selection(), part_bytes=100)
    assert not (tmp_path / "b").exists()


def test_a_folder_with_files_is_refused(several, tmp_path):
    (tmp_path / "mine").touch()

    with pytest.raises(CommandError, match="has files already"):
        call_command("bundle", "create", str(tmp_path))


@pytest.mark.parametrize("size", ["0", "4X", "G", "-1"])
def test_a_size_that_is_none_is_refused(size, tmp_path):
    with pytest.raises(CommandError, match=f"argument --part-size: .*{size}"):
        call_command("bundle", "create", str(tmp_path / "b"), "--part-size", size)


def test_a_bundle_without_a_signature_is_no_bundle(several, tmp_path, monkeypatch):
    monkeypatch.setattr(signing, "PATIENCE_SECONDS", 0)

    with pytest.raises(Unavailable, match="No signing worker has signed the bundle"):
        writing.create(tmp_path / "b", Selection())
    assert not (tmp_path / "b" / "index.json").exists()


def test_damaged_bytes_are_not_carried(published, signer, tmp_path, settings):
    release = published("acme/vpc/aws", "9.0.0")  # of no other test: this process remembers what is damaged
    path = Path(settings.DATA_DIR) / "blobs" / "sha256" / release.digest[:2] / release.digest
    path.chmod(0o600)
    path.write_bytes(b"x" + path.read_bytes()[1:])

    with pytest.raises(CommandError, match=release.digest):
        call_command("bundle", "create", str(tmp_path / "b"))
    assert not (tmp_path / "b" / "index.json").exists()
