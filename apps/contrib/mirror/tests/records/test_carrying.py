"""Mirrored versions that another Larder brought: verified, pinned and refused as those that were fetched."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.contrib.mirror.asking import upstreams
from apps.contrib.mirror.models import Alarm, AlarmKind, KeyPin, Upstream, UpstreamPackage, UpstreamVersion, Verdict
from apps.contrib.mirror.records import carrying
from apps.contrib.mirror.serving import copies
from apps.contrib.mirror.tests import fetched
from apps.lib.errors import Conflict, RoleRequired
from apps.lib.mirrored import HostedProvider, MirroredProof
from tests.builders.keys import signing_key
from tests.builders.misbehaving import Registry

NEAR = "https://near.example.com, bundle sha256:1"


@pytest.fixture
def carried(upstream, registry: Registry, olga) -> tuple[MirroredProof, dict[str, bytes]]:
    """acme/tool 1.0.0 for one platform, of a registry that this Larder does not know: proof, and packages by name."""
    tool = registry.add_provider()
    package = fetched.stored(upstream)
    proof = carrying.proof(HostedProvider(upstream.host, "acme", "tool"), "1.0.0")
    upstreams.remove(upstream.host, actor=Viewer(olga))
    return proof, {package.filename: tool.zip("1.0.0", "linux_amd64")}


@pytest.fixture
def take(carried, registry: Registry, olga) -> Callable[..., bool]:
    proof, zips = carried
    digests = {name: next(iter(proof.sums.decode().split(name)[0].split()[-1:])) for name in zips}

    def act(proof: MirroredProof = proof, actor: Any = olga, **changed: bytes) -> bool:
        def read(digest: str) -> Iterator[bytes]:
            yield changed.get("data") or next(zips[name] for name, one in digests.items() if one == digest)

        provider = HostedProvider(registry.host, "acme", "tool")
        told: dict[str, Any] = {"proof": lambda: proof, "viewer": Viewer(actor), "origin": NEAR}
        return carrying.take(provider, "1.0.0", digests, read=read, **told)

    return act


def test_a_version_is_verified_pinned_and_stored_under_its_registry_in_offline_mode(carried, take):
    assert take()

    version = UpstreamVersion.objects.get()
    assert (version.verdict, version.key) == (Verdict.FIRST_SEEN, KeyPin.objects.get())
    assert KeyPin.objects.get().fingerprint == signing_key("ed25519").fingerprint
    assert (bytes(version.sums), version.known_since) == (carried[0].sums, carried[0].since)
    package = version.packages.get()
    assert package.blob is not None
    assert (package.filename, package.fetched_from) == (next(iter(carried[1])), NEAR)
    upstream = Upstream.objects.get()
    assert (upstream.is_enabled, upstream.is_sealed, upstream.visibility) == (True, True, carried[0].visibility)
    copied = copies.copied(HostedProvider(upstream.host, "acme", "tool"), now=timezone.now())
    assert copied is not None
    assert [number for number, _ in copied.versions] == ["1.0.0"]  # clients see it at once
    assert not take()


def test_a_transfer_that_broke_continues(take):
    with pytest.raises(Conflict, match="has other bytes"):
        take(data=b"half of it")
    assert UpstreamPackage.objects.get().blob is None

    assert take()
    assert UpstreamPackage.objects.get().blob is not None


def test_a_signature_that_does_not_fit_is_refused_with_its_alarm(carried, take):
    with pytest.raises(Conflict, match="is not valid"):
        take(replace(carried[0], sums=carried[0].sums + b"\n"))

    assert Alarm.objects.get().kind == AlarmKind.SIGNATURE_BAD
    assert UpstreamVersion.objects.get().verdict == Verdict.NONE


def test_another_key_than_the_pinned_one_waits_for_staff(upstream, carried, take):
    take()
    UpstreamPackage.objects.all().delete()
    UpstreamVersion.objects.update(verdict="", verified_at=None, key=None, sums=b"", signature=b"")
    KeyPin.objects.update(fingerprint="A" * 40)

    with pytest.raises(Conflict, match="which waits for staff"):
        take()
    assert not UpstreamPackage.objects.exists()


def test_other_digests_than_those_known_here_are_refused_with_their_alarm(carried, take):
    take()
    name = next(iter(carried[1]))
    UpstreamPackage.objects.update(blob=None, h1="", fetched_at=None, digest="0" * 64)

    with pytest.raises(Conflict, match=f"other bytes for {name}"):
        take()
    assert Alarm.objects.get().kind == AlarmKind.BYTES_CHANGED


def test_a_registry_with_terms_waits_for_those_who_accept_them(carried, take, registry, monkeypatch):
    monkeypatch.setattr(upstreams, "KNOWN", {registry.host: upstreams.KNOWN["registry.terraform.io"]})

    with pytest.raises(Conflict, match="is not mirrored here"):
        take()


def test_who_may_not_operate_the_mirror_brings_nothing(take, bob):
    with pytest.raises(RoleRequired):
        take(actor=bob)
    assert not Upstream.objects.exists()
