"""Every bad build folder is rejected with a reason that a person can act on; nothing of it is ever served."""

import hashlib

import pytest

from apps.accounts.access.gate import Viewer
from apps.providers.models import Provider
from apps.signing import keys
from tests.builders import providers
from tests.builders.keys import signing_key
from tests.providers.draft_client import (
    DARWIN,
    LINUX,
    MANIFEST,
    SIGNATURE,
    STEM,
    SUMS,
    codes,
    dist,
    register,
    signed,
    zips,
)
from tests.rows import for_each_row

ONE_LINE = f"{'0' * 64}  {STEM}_linux_386.zip\n".encode()


def resigned(files, sums):
    return signed({**{name: data for name, data in files.items() if name != SIGNATURE}, SUMS: sums})


def digest_of(files):
    return files[SUMS][:64]


def lines(files):
    return files[SUMS].splitlines(keepends=True)


# Of the faults in a file itself one for all: tests/lib/formats/test_sums.py has the others.
SUMS_CASES = {
    "a blank line in the middle": ("sums_blank_line", lambda files: b"\n".join(lines(files))),
    "a line without its file": ("sums_file_missing", lambda files: files[SUMS] + ONE_LINE),
    "a file without its line": ("sums_line_missing", lambda files: b"".join(lines(files)[1:])),
    "another digest": ("sums_digest_differs", lambda files: files[SUMS].replace(digest_of(files), b"0" * 64)),
}


@pytest.mark.slow
@for_each_row("case", SUMS_CASES)
def test_bad_sums_are_rejected(draft_client, registered, case):
    code, spoil = SUMS_CASES[case]
    files = dist()
    document = draft_client.publish(resigned(files, spoil(files)))

    assert document["state"] == "rejected"
    assert code in codes(document), document["reasons"]
    assert all(reason["file"] == SUMS and reason["hint"] for reason in document["reasons"])
    assert not Provider.objects.exists()


def test_a_bad_signature_is_rejected(draft_client, registered, dora):
    """tests/signing/test_verifying.py has all kinds of bad ones."""
    files = signed(dist())
    document = draft_client.publish({**files, SIGNATURE: signing_key("foreign").sign(files[SUMS])})

    assert (document["state"], codes(document)) == ("rejected", ["signature_foreign"])
    assert document["reasons"][0]["file"] == SIGNATURE
    assert document["reasons"][0]["hint"]
    assert codes(draft_client.publish({name: data for name, data in files.items() if name != SUMS})) == ["sums_missing"]
    keys.revoke(key=registered, actor=Viewer(dora), reason="It leaked.")
    assert codes(draft_client.publish(files)) == ["signature_revoked_key"]
    assert not Provider.objects.exists()


def test_a_signature_where_no_key_is_registered_says_who_registers_one_and_the_version_stays_free(
    draft_client, acme, dora, stored_files
):
    document = draft_client.publish(signed(dist()))

    assert (document["state"], codes(document)) == ("rejected", ["no_registered_key"])
    assert "owner of acme" in document["reasons"][0]["hint"]
    assert stored_files() == [], "rejected files leave staging"
    register(acme, dora)
    assert draft_client.publish(signed(dist()))["state"] == "published"


def test_without_signature_and_without_a_key_both_ways_are_said(draft_client):
    document = draft_client.publish(zips(), protocols=["5.0"])

    assert (document["state"], codes(document)) == ("rejected", ["not_signed"])
    assert "SHA256SUMS and its .sig" in document["reasons"][0]["hint"]
    assert "a key in this registry" in document["reasons"][0]["hint"]
    assert not Provider.objects.exists()


def test_each_bad_package_is_named_at_once(draft_client, held):
    """tests/lib/packages has all kinds of bad ones."""
    wrong = {LINUX: providers.package("dns", "1.2.0", "darwin", "amd64"), DARWIN: b"not a zip at all" * 100}
    document = draft_client.publish(wrong, protocols=["5.0"])

    assert document["state"] == "rejected"
    assert [reason["file"].split(":")[0] for reason in document["reasons"]] == [DARWIN, LINUX]
    assert codes(document)[1] == "package_wrong_platform"
    assert all(reason["hint"] for reason in document["reasons"])
    assert not Provider.objects.exists()


PROTOCOLS = {
    "neither says": ("protocols_unknown", None, []),
    "they differ": ("protocols_differ", providers.manifest("6.0"), ["5.0"]),
    "a manifest that is no JSON": ("manifest_not_json", b"{", []),
    "a manifest of another version": ("manifest_version", b'{"version": 2}', []),
    "a manifest that names none": ("manifest_protocols", providers.manifest(), []),
    "a protocol that no client reads": ("manifest_protocols", providers.manifest("five"), []),
    "a protocol that no client speaks": ("protocols_unspoken", providers.manifest("4.0"), []),
}


@pytest.mark.slow
@for_each_row("case", PROTOCOLS)
def test_protocols_are_never_guessed(draft_client, held, case):
    code, manifest, told = PROTOCOLS[case]
    files = zips() | ({} if manifest is None else {MANIFEST: manifest})
    document = draft_client.publish(files, **({"protocols": told} if told else {}))

    assert (document["state"], codes(document)) == ("rejected", [code])
    assert not Provider.objects.exists()


def test_the_digest_in_the_reason_is_that_of_the_upload(draft_client, registered):
    files = dist()
    wrong = files[SUMS].replace(hashlib.sha256(files[LINUX]).hexdigest().encode(), b"0" * 64)
    document = draft_client.publish(resigned(files, wrong))

    assert hashlib.sha256(files[LINUX]).hexdigest() in document["reasons"][0]["expected"]
