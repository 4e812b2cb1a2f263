"""Push what crashes or stops clients through every entry point for provider files: none of it becomes visible."""

import functools
from collections.abc import Mapping

import pytest

from apps.blobs import store
from apps.providers.models import Provider, ProviderVersion
from apps.releases.models import Release
from tests.builders import providers
from tests.builders.keys import signing_key
from tests.builders.zips import Member, build
from tests.house.entry_points import table, upload_channels, visible
from tests.house.entry_points.upload_channels import UploadChannel
from tests.providers.draft_client import LINUX, MANIFEST, SIGNATURE, SUMS, register, signed

pytestmark = pytest.mark.matrix

KINDS = sorted(table.group("files"))
GOOD = providers.dist("dns", "1.2.0", ["linux_amd64"])
DIGEST = GOOD[SUMS][:64]
LINES = GOOD[SUMS].splitlines(keepends=True)


@pytest.fixture(params=KINDS)
def way(request, alice, olga, tofu, browser_of):
    """Publishes by one kind of entry_points; answers which ones."""

    def publish(files: Mapping[str, bytes], **wanted: str) -> set[str]:
        channel = UploadChannel(
            tofu(alice)
            if request.param in ("api", "pieces")
            else browser_of(olga if request.param == "admin" else alice)
        )
        upload_channels.WAYS[request.param](channel, files, **wanted)
        return channel.entry_points

    publish.kind = request.param  # type: ignore[attr-defined]
    return publish


@functools.cache  # once for all entry_points: gpg takes its time
def own(sums: bytes) -> bytes:
    return signing_key().sign(sums)


def over(sums: bytes, signature: bytes | None = None) -> dict[str, bytes]:
    """The build folder with other sums, truly signed: only their form is wrong."""
    return {**GOOD, SUMS: sums, SIGNATURE: own(sums) if signature is None else signature}


SPOILT = build([Member("bin/terraform-provider-dns_v1.2.0", providers.program("linux", "amd64"))])
# One of each kind: every other one is refused by the same worker (tests/lib/formats/test_sums.py,
# tests/lib/packages, tests/signing/test_verifying.py, tests/providers/test_refusals.py).
BREAKS_CLIENTS = {
    "sums": lambda: over(b"\n".join(LINES)),
    "digest": lambda: over(GOOD[SUMS].replace(DIGEST, b"0" * 64)),
    "signature": lambda: over(GOOD[SUMS], signing_key("foreign").sign(GOOD[SUMS])),
    "package": lambda: {**over(providers.sums({LINUX: SPOILT, MANIFEST: GOOD[MANIFEST]})), LINUX: SPOILT},
}


def test_every_kind_of_entry_points_is_walked_and_leads_somewhere(way, acme, dora):
    """Without this, a entry_point that refuses everything would pass the tests below."""
    register(acme, dora)
    knocked = way(over(GOOD[SUMS]))

    assert [str(version) for version in ProviderVersion.objects.all()] == ["acme/dns 1.2.0"]
    assert visible.problems() == []
    assert knocked >= set(table.group("files")[way.kind])


def test_n11_sums_that_somebody_signed_are_served_byte_for_byte(way, acme, dora):
    register(acme, dora)
    way(over(GOOD[SUMS].rstrip(b"\n")))  # without the last line break: allowed, and signed so
    version = ProviderVersion.objects.get()

    assert b"".join(store.read(version.sums_digest)) == GOOD[SUMS].rstrip(b"\n")
    assert b"".join(store.read(version.signature_digest)) == own(GOOD[SUMS].rstrip(b"\n"))


def some(way, cases):
    """All of the cases by the API, a few by the others, since they fill the same drafts."""
    return list(cases) if way.kind == "api" else list(cases)[::5]


def test_the_kinds_of_the_table_are_those_that_are_walked():
    assert set(KINDS) == set(upload_channels.WAYS)


def test_what_breaks_clients_is_published_by_no_entry_point(way, acme, dora):
    register(acme, dora)
    for case, make in BREAKS_CLIENTS.items():
        way(make())  # each is rejected, and the number is free for the next
        assert visible.everything() == {}, case
    assert not Provider.objects.exists()


def test_case_20_m7_other_than_strict_versions_are_not_published(way, acme, dora):
    register(acme, dora)
    for version in some(way, ("v1.2.0", "1.2", "1", "01.2.0", "1.2.0.0", "latest", "1.2.0-")):
        way({name.replace("1.2.0", version): data for name, data in over(GOOD[SUMS]).items()}, version=version)
        assert not Release.objects.exists(), version


def test_s14_types_that_no_client_asks_for_are_not_published(way, acme, dora):
    register(acme, dora)
    types = ("terraform-dns", "opentofu-dns", "terraform-x", "DNS", "my_dns", "d--s", "-dns", "dns.x")
    for type in some(way, types):  # noqa: A001
        way({name.replace("dns", type): data for name, data in over(GOOD[SUMS]).items()}, type=type)
        assert not Release.objects.exists(), type


def test_case_24_m12_other_bytes_are_not_published_under_a_number_that_is_taken(way, acme, dora):
    register(acme, dora)
    way(over(GOOD[SUMS]))
    before = visible.everything()
    other = providers.dist("dns", "1.2.0", ["linux_amd64", "darwin_arm64"])
    other[LINUX] = providers.package("dns", "1.2.0", "linux", "amd64", extra={"README.md": "# another"})
    other[SUMS] = providers.sums({name: data for name, data in other.items() if name != SUMS})
    way(signed(other))

    assert visible.everything() == before
    assert visible.problems() == []
