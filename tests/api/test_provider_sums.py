"""SHA256SUMS as GoReleaser writes them: with lines for files that no client looks for, and that nobody sends."""

import hashlib

import pytest

from apps.blobs import store
from apps.providers.models import Provider, ProviderVersion
from tests.lib.packages.test_names import BYPRODUCTS
from tests.providers.conftest import desk, held, registered, worker
from tests.providers.desk import LINUX, MANIFEST, SIGNATURE, STEM, SUMS, body, codes, dist, signed, work

__all__ = ["desk", "held", "registered", "worker"]


def listing(files, *names):
    """The same build, where the sums have lines for these files as well."""
    lines = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n".encode() for name in names]
    return {**files, SUMS: files[SUMS] + b"".join(lines)}


def test_lines_for_sboms_and_sources_need_no_file(desk, registered):
    names = (f"{LINUX}.sbom.json", f"{STEM}.tar.gz", f"{STEM}.tar.gz.sbom.json")
    files = signed(listing(dist(), *names))
    document = desk.publish(files)

    assert (document["state"], document["signing"]) == ("published", "publisher"), document["reasons"]
    assert b"".join(store.read(ProviderVersion.objects.get().sums_digest)) == files[SUMS]


def test_a_whole_build_folder_may_be_sent_and_what_is_not_published_is_ignored(desk, registered, stored_files):
    """`for file in dist/*; do curl --fail …` must not stop at a file that nobody needs."""
    desk.open()
    files = signed(listing(dist(), f"{LINUX}.sbom.json"))
    sent = {name: desk.put(name, b"{}" * 3000) for name in BYPRODUCTS}
    assert stored_files() == []
    for name, data in files.items():
        assert desk.put(name, data).status_code == 201

    assert {name: answer.status_code for name, answer in sent.items()} == dict.fromkeys(BYPRODUCTS, 200)
    assert {body(answer)["role"] for answer in sent.values()} == {"ignored"}
    assert body(sent["config.yaml"])["size"] == 6000
    assert desk.hand_in().status_code == 202
    work()
    document = desk.get()
    assert (document["state"], document["signing"]) == ("published", "publisher"), document["reasons"]
    assert sorted(file["name"] for file in document["files"]) == sorted(files)
    assert desk.put("config.yaml", b"again").status_code == 200


def test_a_byproduct_is_ignored_for_those_alone_who_may_send_files(desk, tofu, bob, untouchable):
    desk.open()
    assert tofu(bob).put(f"{desk.url}/files/config.yaml", **untouchable).status_code == 403


def test_no_byproduct_is_read_beyond_the_limit(desk, endless, settings):
    settings.PROVIDER_PACKAGE_MAX_BYTES = 999
    desk.open()
    assert desk.client.put(f"{desk.url}/files/config.yaml", **endless(100_000)).status_code == 413


def test_lines_for_sboms_are_passed_over_where_the_registry_signs(desk, held):
    document = desk.publish(listing(dist(), f"{LINUX}.sbom.json"))

    assert (document["state"], document["signing"]) == ("published", "registry"), document["reasons"]
    assert b"sbom" not in b"".join(store.read(ProviderVersion.objects.get().sums_digest))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        (f"{STEM}_linux_386.zip", f"Send {STEM}_linux_386.zip too"),
        (f"{STEM}_linux_x86_64.zip", "sums without it: acme/dns 1.2.0 has no such file"),
        (f"{STEM}_source.zip", "sums without it: acme/dns 1.2.0 has no such file"),
        (f"{STEM}_linux_amd64.ZIP", "sums without it: acme/dns 1.2.0 has no such file"),
        ("terraform-provider-dns_1.2.1_linux_amd64.zip", "sums without it: acme/dns 1.2.0 has no such file"),
        ("terraform-provider-dns_1.2.1.tar.gz", "sums without it: acme/dns 1.2.0 has no such file"),
        ("README.md", "sums without it: acme/dns 1.2.0 has no such file"),
    ],
)
def test_other_lines_need_their_file_and_nobody_is_told_to_send_what_is_refused(desk, registered, name, hint):
    document = desk.publish(signed(listing(dist(), name)))

    assert codes(document) == ["sums_file_missing"]
    assert hint in document["reasons"][0]["hint"]
    assert not Provider.objects.exists()


def test_a_line_for_the_manifest_needs_the_manifest(desk, registered):
    files = signed(dist())
    del files[MANIFEST]
    document = desk.publish(files, protocols=["5.0"])

    assert codes(document) == ["sums_file_missing"]
    assert f"Send {MANIFEST} too: it is terraform-registry-manifest.json" in document["reasons"][0]["hint"]


def test_the_manifest_of_the_repository_is_refused_with_the_name_to_send_it_by(desk):
    desk.open()
    refused = desk.put("terraform-registry-manifest.json", b"{}")

    assert refused.status_code == 422
    assert body(refused)["error"]["hint"] == f"Send it as {MANIFEST}."


def test_a_file_of_this_version_without_its_line_is_refused_as_before(desk, registered):
    files = dist()
    rest = b"".join(line for line in files[SUMS].splitlines(keepends=True) if LINUX.encode() not in line)
    document = desk.publish(signed({**files, SUMS: rest}))

    assert codes(document) == ["sums_line_missing"]
    assert SIGNATURE in {file["name"] for file in document["files"]}
