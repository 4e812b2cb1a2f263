"""Signatures of other registries: as lenient as clients are, and no more."""

import pytest

from apps.signing import foreign, packets
from apps.signing.foreign import NotSigned, verify
from tests.builders.keys import signing_key
from tests.rows import for_each_row

DATA = b"0" * 64 + b"  terraform-provider-dns_1.2.0_linux_amd64.zip\n"


def signed_by(kind: str, *options: str) -> bytes:
    return signing_key(kind).sign(DATA, *options)


def armors(*kinds: str) -> list[str]:
    return [signing_key(kind).armor for kind in kinds]


@for_each_row("kind", ["ed25519", "rsa4096", "rsa2048", "nistp256", "nistp521", "subkey"])
def test_a_signature_by_a_named_key_counts(kind):
    signer = verify(data=DATA, signature=signed_by(kind), armors=armors(kind))
    assert (signer.fingerprint, signer.note) == (signing_key(kind).fingerprint, "")
    assert signer.armor == signing_key(kind).armor


def test_the_key_that_signed_is_found_among_several_and_so_is_its_signature():
    signer = verify(data=DATA, signature=signed_by("rsa2048"), armors=armors("ed25519", "foreign", "rsa2048"))
    assert signer.fingerprint == signing_key("rsa2048").fingerprint
    signer = verify(data=DATA, signature=signed_by("ed25519"), armors=["no key", *armors("ed25519")])
    assert signer.fingerprint == signing_key("ed25519").fingerprint
    both = signed_by("foreign") + signed_by("ed25519")
    assert verify(data=DATA, signature=both, armors=armors("ed25519")).fingerprint == signing_key("ed25519").fingerprint


def test_an_expired_key_or_signature_counts_and_says_so():
    signer = verify(data=DATA, signature=signed_by("expired"), armors=armors("expired"))
    assert signer.note == "Its key has expired."
    signature = signing_key("old").sign(DATA, "--default-sig-expire", "1d")
    assert verify(data=DATA, signature=signature, armors=armors("old")).note == "The signature has expired."


def test_a_key_that_is_not_named_is_foreign():
    with pytest.raises(NotSigned, match="which the registry does not name") as refused:
        verify(data=DATA, signature=signed_by("foreign"), armors=armors("ed25519"))
    assert refused.value.is_foreign
    assert refused.value.issuer == signing_key("foreign").fingerprint


@for_each_row(
    ("signature", "armor", "found"),
    [
        (lambda: signing_key("ed25519").sign(DATA + b"x"), "ed25519", "over other bytes"),
        (lambda: signed_by("revoked"), "revoked", "revoked"),
        (lambda: signed_by("rsa1024"), "rsa1024", "weak key"),
        (lambda: signed_by("dsa"), "dsa", "weak key"),
        (lambda: signed_by("ed25519", "--armor"), "ed25519", "armoured"),
        (lambda: b"", "ed25519", "empty"),
        (lambda: b"not a signature", "ed25519", "not a signature"),
        (lambda: signed_by("ed25519")[:-9], "ed25519", "not a signature"),
        (lambda: b"\xc2" * (foreign.MAX_SIGNATURE_BYTES + 1), "ed25519", "at most 65,536"),
    ],
)
def test_what_clients_refuse_is_refused(signature, armor, found):
    with pytest.raises(NotSigned, match=found):
        verify(data=DATA, signature=signature(), armors=armors(armor))


@for_each_row(
    ("options", "weakness"),
    [
        (("--digest-algo", "SHA1"), "made with SHA-1"),
        (("--textmode",), "in text mode"),
        (("--textmode", "--digest-algo", "SHA1"), "made with SHA-1 and in text mode"),
        (("--digest-algo", "SHA224"), ""),
    ],
)
def test_what_clients_accept_although_it_proves_less_is_named(options, weakness):
    signature = signed_by("rsa2048", *options)
    signer = verify(data=DATA, signature=signature, armors=armors("rsa2048"))
    assert (signer.fingerprint, signer.weakness) == (signing_key("rsa2048").fingerprint, weakness)
    assert foreign.weakness_in(signature) == weakness
    both = signature + signed_by("ed25519")
    assert verify(data=DATA, signature=both, armors=armors("rsa2048", "ed25519")).weakness == ""
    with pytest.raises(NotSigned, match="over other bytes"):
        verify(data=DATA + b"x", signature=signature, armors=armors("rsa2048"))


def test_too_many_or_too_large_keys_are_refused_before_gpg_sees_them(monkeypatch):
    monkeypatch.setattr("apps.signing.foreign.findings.ask", lambda *_: 1 / 0)
    with pytest.raises(NotSigned, match="at most 32"):
        verify(data=DATA, signature=signed_by("ed25519"), armors=armors("ed25519") * 33)
    with pytest.raises(NotSigned, match="cannot be read"):
        verify(data=DATA, signature=signed_by("ed25519"), armors=[armors("ed25519")[0] + "x" * 300_000])


def test_a_packet_that_is_written_again_is_the_same():
    [packet] = packets.packets(signed_by("rsa4096"))
    assert list(packets.packets(packets.written(packet))) == [packet]
