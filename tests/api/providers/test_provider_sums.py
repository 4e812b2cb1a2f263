"""SHA256SUMS as GoReleaser writes them: with lines for files that no client looks for, and that nobody sends."""

import hashlib

import pytest

from apps.blobs import store
from apps.providers.models import Provider, ProviderVersion
from tests.lib.packages.test_names import BYPRODUCTS
from tests.providers.draft_client import LINUX, MANIFEST, SIGNATURE, STEM, SUMS, body, codes, dist, signed, work
from tests.rows import for_each_row


def listing(files, *names):
    """The same build, where the sums have lines for these files as well."""
    lines = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n".encode() for name in names]
    return {**files, SUMS: files[SUMS] + b"".join(lines)}


def test_a_whole_build_folder_may_be_sent_and_what_is_not_published_is_ignored(draft_client, registered, stored_files):
    """`for file in dist/*; do curl --fail …` must not stop at a file that nobody needs."""
    draft_client.open()
    listed = (f"{LINUX}.sbom.json", f"{STEM}.tar.gz", f"{STEM}.tar.gz.sbom.json")
    files = signed(listing(dist(), *listed))  # lines that need no file
    sent = {name: draft_client.put(name, b"{}" * 3000) for name in BYPRODUCTS}
    assert stored_files() == []
    for name, data in files.items():
        assert draft_client.put(name, data).status_code == 201

    assert {name: answer.status_code for name, answer in sent.items()} == dict.fromkeys(BYPRODUCTS, 200)
    assert {body(answer)["role"] for answer in sent.values()} == {"ignored"}
    assert body(sent["config.yaml"])["size"] == 6000
    assert draft_client.hand_in().status_code == 202
    work()
    document = draft_client.get()
    assert (document["state"], document["signing"]) == ("published", "publisher"), document["reasons"]
    assert sorted(file["name"] for file in document["files"]) == sorted(files)
    assert b"".join(store.read(ProviderVersion.objects.get().sums_digest)) == files[SUMS]
    assert draft_client.put("config.yaml", b"again").status_code == 200


def test_lines_for_sboms_are_passed_over_where_the_registry_signs(draft_client, held):
    document = draft_client.publish(listing(dist(), f"{LINUX}.sbom.json"))

    assert (document["state"], document["signing"]) == ("published", "registry"), document["reasons"]
    assert b"sbom" not in b"".join(store.read(ProviderVersion.objects.get().sums_digest))


@pytest.mark.slow
@for_each_row(
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
def test_other_lines_need_their_file_and_nobody_is_told_to_send_what_is_refused(draft_client, registered, name, hint):
    document = draft_client.publish(signed(listing(dist(), name)))

    assert codes(document) == ["sums_file_missing"]
    assert hint in document["reasons"][0]["hint"]
    assert not Provider.objects.exists()


def test_a_line_for_the_manifest_needs_the_manifest_by_the_name_in_the_sums(draft_client, registered):
    files = signed(dist())
    manifest = files.pop(MANIFEST)
    document = draft_client.publish(files, protocols=["5.0"])
    assert codes(document) == ["sums_file_missing"]
    assert f"Send {MANIFEST} too: it is terraform-registry-manifest.json" in document["reasons"][0]["hint"]

    draft_client.open()
    refused = draft_client.put("terraform-registry-manifest.json", manifest)
    assert refused.status_code == 422
    assert body(refused)["error"]["hint"] == f"Send it as {MANIFEST}."


def test_a_file_of_this_version_without_its_line_is_refused_as_before(draft_client, registered):
    files = dist()
    rest = b"".join(line for line in files[SUMS].splitlines(keepends=True) if LINUX.encode() not in line)
    document = draft_client.publish(signed({**files, SUMS: rest}))

    assert codes(document) == ["sums_line_missing"]
    assert SIGNATURE in {file["name"] for file in document["files"]}
