"""Every way in which a signature may be wrong, made by gpg for real."""

import pytest

from apps.accounts.models import Namespace
from apps.signing.gpg import Gpg
from apps.signing.models import SigningKey, State
from apps.signing.verifying import BadSignature, problems, verify
from tests.builders.held import key_row
from tests.builders.keys import signing_key
from tests.rows import for_each_row

DATA = b"0" * 64 + b"  terraform-provider-maps_1.0.0_linux_amd64.zip\n"


@pytest.fixture
def key(acme: Namespace) -> SigningKey:
    return key_row(acme)


def refusal_of(signature: bytes, *keys: SigningKey, data: bytes = DATA, was_accepted: bool = False) -> BadSignature:
    with pytest.raises(BadSignature) as refused:
        verify(data=data, signature=signature, keys=keys, was_accepted=was_accepted)
    assert refused.value.hint
    assert refused.value.reason.expected in str(refused.value)
    return refused.value


@for_each_row("kind", ["ed25519", "rsa2048", "rsa4096", "nistp256", "nistp384", "nistp521", "subkey"])
def test_it_knows_the_key_among_all_of_the_namespace(kind: str, acme: Namespace) -> None:
    wanted, other = key_row(acme, kind), key_row(acme, "foreign")
    signature = signing_key(kind).sign(DATA)
    assert verify(data=DATA, signature=signature, keys=[other, wanted]) == wanted
    assert verify(data=DATA, signature=signature, keys=[wanted, other]) == wanted


@for_each_row("digest", ["SHA256", "SHA384", "SHA512"])
def test_it_takes_strong_digests(digest: str, acme: Namespace) -> None:
    key = key_row(acme, "rsa2048")
    assert verify(data=DATA, signature=signing_key("rsa2048").sign(DATA, "--digest-algo", digest), keys=[key]) == key


@for_each_row("digest", ["SHA1", "SHA224", "MD5", "RIPEMD160"])
def test_it_refuses_weak_digests(digest: str, acme: Namespace) -> None:
    signature = signing_key("rsa2048").sign(DATA, "--digest-algo", digest)
    assert refusal_of(signature, key_row(acme, "rsa2048")).reason.code == "signature_weak_digest"


@for_each_row("kind", ["rsa1024", "dsa"])
def test_it_refuses_weak_keys_before_it_asks_whose_they_are(kind: str, key: SigningKey) -> None:
    assert refusal_of(signing_key(kind).sign(DATA), key).reason.code == "signature_weak_key"


def test_it_refuses_a_curve_that_got_in_somehow(acme: Namespace) -> None:
    key = key_row(acme, "secp256k1")
    assert refusal_of(signing_key("secp256k1").sign(DATA), key).reason.code == "signature_weak_key"


def test_it_wants_binary_and_detached(key: SigningKey) -> None:
    made = signing_key()
    assert refusal_of(made.sign(DATA, "--armor"), key).reason.code == "signature_armoured"
    assert refusal_of(made.sign(DATA, "--clearsign"), key).reason.code == "signature_inline"
    assert refusal_of(made.sign(DATA, "--sign"), key).reason.code == "signature_inline"
    assert refusal_of(made.sign(DATA, "--sign", "-z", "0"), key).reason.code == "signature_inline"


def test_it_wants_exactly_one(key: SigningKey) -> None:
    made = signing_key()
    signature = made.sign(DATA)
    assert refusal_of(signature + signature, key).reason.code == "signature_several"
    assert refusal_of(signature + signing_key("foreign").sign(DATA), key).reason.code == "signature_several"
    for nothing in (b"", b"\n", b" \r\n"):
        assert refusal_of(nothing, key).reason.code == "signature_empty"


def test_it_names_the_foreign_key_and_the_registered_ones(key: SigningKey) -> None:
    foreign = signing_key("foreign")
    refused = refusal_of(foreign.sign(DATA), key)
    assert refused.reason.code == "signature_foreign"
    assert foreign.fingerprint in refused.reason.found
    assert key.fingerprint in refused.reason.expected
    assert refusal_of(foreign.sign(DATA)).reason.code == "signature_foreign"  # nothing is registered


def test_it_refuses_other_bytes_and_damage(key: SigningKey) -> None:
    signature = signing_key().sign(DATA)
    assert refusal_of(signature, key, data=DATA + b"\n").reason.code == "signature_bad"
    assert refusal_of(signature, key, data=b"").reason.code == "signature_bad"
    assert refusal_of(signature[:-1] + bytes([signature[-1] ^ 1]), key).reason.code == "signature_bad"
    for broken in (signature[:-9], b"\x00" * 50, b"\x88", b"no signature", b"\xff" * 70_000):
        assert refusal_of(broken, key).reason.code == "signature_bad"
    assert refusal_of(signature + b"\xb4\x01x", key).reason.code == "signature_bad"  # a user id behind it


def test_every_truncated_or_flipped_signature_is_refused_with_a_reason(key: SigningKey) -> None:
    signature = signing_key().sign(DATA)
    for length in range(1, len(signature), 9):
        refusal_of(signature[:length], key)
    # The hint whose key it is (10 bytes and their length) is signed by nobody, so some of it may change.
    hint = signature.index(bytes.fromhex("000a0910"))
    for at in range(0, len(signature), 9):
        if not hint <= at < hint + 12:
            refusal_of(signature[:at] + bytes([signature[at] ^ 0x11]) + signature[at + 1 :], key)
    other = signature[: hint + 6] + bytes([signature[hint + 6] ^ 1]) + signature[hint + 7 :]
    assert "several keys" in refusal_of(other, key).reason.found


def test_it_refuses_a_signature_that_ends_or_has_ended(acme: Namespace) -> None:
    for kind in ("ed25519", "old"):
        refused = refusal_of(signing_key(kind).sign(DATA, "--default-sig-expire", "10d"), key_row(acme, kind))
        assert refused.reason.code == "signature_expired"


def test_an_expired_or_retired_key_vouches_only_for_what_was_kept(acme: Namespace) -> None:
    for kind, fields, code in (("expired", {}, "expired"), ("ed25519", {"state": State.RETIRED}, "retired")):
        key = key_row(acme, kind, **fields)
        signature = signing_key(kind).sign(DATA)
        assert refusal_of(signature, key).reason.code == f"signature_{code}_key"
        assert verify(data=DATA, signature=signature, keys=[key], was_accepted=True) == key
        assert refusal_of(signature, key, data=b"other", was_accepted=True).reason.code == "signature_bad"


def test_it_believes_gpg_where_the_row_does_not_know_of_the_end(acme: Namespace) -> None:
    key = key_row(acme, "expired", expires_at=None)
    assert refusal_of(signing_key("expired").sign(DATA), key).reason.code == "signature_expired_key"


def test_a_revoked_key_vouches_for_nothing(acme: Namespace) -> None:
    by_row, by_owner = key_row(acme, state=State.REVOKED), key_row(acme, "revoked")
    for key, kind in ((by_row, "ed25519"), (by_owner, "revoked")):
        signature = signing_key(kind).sign(DATA)
        assert refusal_of(signature, key).reason.code == "signature_revoked_key"
        assert refusal_of(signature, key, was_accepted=True).reason.code == "signature_revoked_key"


def test_a_bad_key_beside_it_spoils_nothing(acme: Namespace) -> None:
    good, bad = key_row(acme), key_row(acme, "foreign")
    bad.armor = bad.armor[:150] + "////" + bad.armor[154:]
    assert verify(data=DATA, signature=signing_key().sign(DATA), keys=[bad, good]) == good


def test_many_signatures_are_judged_like_each_alone_and_good_ones_share_a_process(acme, monkeypatch):
    key, made = key_row(acme), signing_key()
    good = [(DATA + bytes([n]), made.sign(DATA + bytes([n]))) for n in range(3)]
    signed = [
        good[0],
        (good[0][0], good[1][1]),
        good[1],
        (DATA, signing_key("foreign").sign(DATA)),
        (DATA, made.sign(DATA, "--default-sig-expire", "5d")),
        good[2],
    ]
    codes = [found.reason.code if found else "" for found in problems(key, signed)]
    assert codes == ["", "signature_bad", "", "signature_foreign", "signature_expired", ""]
    for (data, signature), code in zip(signed, codes, strict=True):
        if code:
            assert refusal_of(signature, key, data=data, was_accepted=True).reason.code == code

    started = []
    run = Gpg._open_subprocess

    def counted(*words):
        started.append(words)
        return run(*words)

    monkeypatch.setattr(Gpg, "_open_subprocess", counted)
    assert problems(key, good * 20) == [None] * 60
    assert len(started) < 5  # import and list the key, and verify
    SigningKey.objects.update(state=State.REVOKED)
    key.refresh_from_db()
    assert {found.reason.code for found in problems(key, good) if found} == {"signature_revoked_key"}
