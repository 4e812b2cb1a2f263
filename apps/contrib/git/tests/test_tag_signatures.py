"""Annotated tags of a real repository, signed by real keys: what the release says of them."""

from pathlib import Path

import pytest

from apps.accounts.models import Namespace
from apps.contrib.git import tag_signatures
from apps.contrib.git.tests.conftest import Git, module
from apps.releases.models import Release
from apps.signing import armor
from apps.signing.models import SigningKey, State
from tests.builders.git_servers import Repository, ssh_key
from tests.builders.keys import TestKey, signing_key
from tests.rows import for_each_row


def signed(
    key: TestKey, *, commit: str = "1" * 40, name: str = "v1.0.0", payload_is: str = "signed", tagger: str = "Alice"
) -> bytes:
    """Return a tag like `git tag --sign` writes it."""
    payload = (
        f"object {commit}\ntype commit\ntag {name}\ntagger {tagger} <alice@acme.example> 1700000000 +0000\n\nFirst\n"
    ).encode()
    signature = key.sign(payload, "--armor")
    if payload_is == "changed":
        payload = payload.replace(b"First", b"Worst")
    return payload + signature


def signed_tag(repository: Repository, name: str, key: TestKey, **more: str) -> None:
    raw = signed(key, commit=repository.head, name=name, **more)
    tag = repository.run("hash-object", "-t", "tag", "-w", "--stdin", given=raw)
    repository.run("update-ref", f"refs/tags/{name}", tag)


def register(namespace: Namespace, kind: str) -> SigningKey:
    parsed = armor.parse(signing_key(kind).armor)
    return SigningKey.objects.create(
        namespace=namespace,
        custody="publisher",
        fingerprint=parsed.fingerprint,
        key_id=parsed.fingerprint[-16:],
        armor=parsed.armor,
        algorithm=parsed.algorithm,
    )


def signature_of(version: str) -> str:
    facts = Release.objects.get(version=version, name="vpc/aws").origin.facts
    return str(facts["signature"])


@pytest.mark.slow
def test_only_a_signature_by_a_registered_key_is_said_to_be_one(git: Git, upstream: Repository):
    key = register(git.repository.namespace, "ed25519")
    signed_tag(upstream, "v1.0.0", signing_key("ed25519"))
    signed_tag(upstream, "v1.1.0", signing_key("foreign"))
    signed_tag(upstream, "v1.2.0", signing_key("ed25519"), payload_is="changed")
    upstream.tag("v1.3.0", message="Not signed")
    upstream.tag("v1.4.0")
    git.sync()

    assert signature_of("1.0.0") == f"by key {key.key_id}, registered for acme"
    assert signature_of("1.1.0").startswith("by a key that is not registered")
    assert signing_key("foreign").fingerprint in signature_of("1.1.0")
    assert signature_of("1.2.0") == "not valid: a signature over other bytes, or a damaged one"
    assert signature_of("1.3.0") == signature_of("1.4.0") == "none"


@for_each_row(
    ("state", "said"), [(State.RETIRED, "registered for acme and retired"), (State.REVOKED, "which was revoked")]
)
def test_a_key_that_has_ended_or_is_of_another_namespace_is_called_so(
    acme: Namespace, pantry: Namespace, state: State, said: str
):
    raw, key = signed(signing_key("ed25519")), register(acme, "ed25519")
    SigningKey.objects.filter(pk=key.pk).update(state=state)

    assert said in tag_signatures.read(raw, acme).signature
    assert "not registered" in tag_signatures.read(raw, pantry).signature


def test_an_ssh_signature_is_not_called_verified(git: Git, upstream: Repository, tmp_path: Path):
    upstream.sign_tag("v1.0.0", ssh_key(tmp_path / "key"))
    git.sync()

    assert signature_of("1.0.0") == "of a kind that Larder does not check (SSH or X.509)"


@for_each_row(
    ("raw", "tagger", "signature"),
    [
        (b"", "", "none"),
        (b"object 1\ntag v1\n\nmessage", "", "none"),
        (b"tagger Bob \xff\x1b[31m <b@x> 1 +0\n\nmessage", "Bob \N{REPLACEMENT CHARACTER}[31m", "none"),
        (b"tag v1\n\ntagger Mallory <m@x> 1 +0\n", "", "none"),
        (
            b"tagger Bob <b> 1 +0\n\nm\n-----BEGIN PGP SIGNATURE-----\n\n!!\n-----END PGP SIGNATURE-----\n",
            "Bob",
            "unread",
        ),
        (b"tagger Bob <b> 1 +0\n\nm\n-----BEGIN PGP SIGNATURE-----\n" + b"A" * 300_000, "Bob", "too large"),
    ],
)
def test_hostile_tags_are_read_with_care(acme: Namespace, raw: bytes, tagger: str, signature: str):
    found = tag_signatures.read(raw, acme)

    assert found.tagger == tagger
    assert found.signature.startswith(signature)


@pytest.mark.slow
def test_the_approver_reads_what_is_unusual(git: Git, upstream: Repository):
    register(git.repository.namespace, "ed25519")
    signed_tag(upstream, "v1.0.0", signing_key("ed25519"))
    git.sync()
    git.repository.namespace.requires_approval = True
    git.repository.namespace.save()
    upstream.commit(module("second"))
    signed_tag(upstream, "v1.1.0", signing_key("foreign"), tagger="Mallory")
    git.sync()

    unusual = Release.objects.get(version="1.1.0").approval.unusual
    assert unusual[0] == "This is the first release that Mallory tagged."
    assert unusual[1].startswith("The signature of its tag is by a key that is not registered")
    assert unusual[1].endswith("registered for acme.")
