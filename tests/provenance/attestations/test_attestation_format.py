"""DSSE envelopes and Sigstore bundles that Larder reads, and those that it refuses."""

import json

import pytest

from apps.provenance import attestation_format, envelopes
from apps.provenance.attestation_format import OtherMediaType
from apps.provenance.envelopes import AttestationInvalid
from apps.provenance.models import Form
from tests.builders import attestations
from tests.builders.attestations import BUNDLE, DSSE, GITHUB, PROVENANCE, WORKFLOW, certificate, envelope, statement
from tests.rows import for_each_row

ONE, TWO = "a" * 64, "b" * 64


def read(document, media_type=""):
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return attestation_format.read(content, media_type)


def refusal(document, media_type=""):
    with pytest.raises(AttestationInvalid) as refused:
        read(document, media_type)
    return str(refused.value)


def test_an_envelope_says_about_which_bytes_and_which_key():
    found = read(attestations.dsse(ONE, TWO, ONE))

    assert (found.form, found.media_type) == (Form.DSSE, DSSE)
    assert found.said.digests == (ONE, TWO)
    assert (found.said.predicate_type, found.said.signed_by) == (PROVENANCE, "key key-of-alice")


def test_a_bundle_says_whom_its_certificate_names():
    found = read(attestations.bundle(ONE))

    assert (found.form, found.media_type) == (Form.BUNDLE, BUNDLE)
    assert found.said.digests == (ONE,)
    assert (found.said.predicate_type, found.said.signed_by) == (PROVENANCE, f"{WORKFLOW}, issuer {GITHUB}")


def test_a_signature_of_bytes_alone_is_about_these():
    found = read(attestations.signed(ONE))
    assert (found.said.digests, found.said.predicate_type) == ((ONE,), "")


@for_each_row("old", [True, False])
def test_the_issuer_stands_in_either_extension(old):
    der = certificate(identity="alice@example.com", issuer="https://accounts.example.com", plain=old)
    material = {"certificate": {"rawBytes": attestations.text(der)}}
    found = read(attestations.bundle(ONE, verificationMaterial=material))
    assert found.said.signed_by == "alice@example.com, issuer https://accounts.example.com"


def test_older_forms_of_what_others_write_are_read():
    chain = {"x509CertificateChain": {"certificates": [{"rawBytes": attestations.text(certificate())}]}}
    named = "application/vnd.dev.sigstore.bundle+json;version=0.3"
    assert read(attestations.bundle(ONE, verificationMaterial=chain, mediaType=named), named).form == Form.BUNDLE

    hint = {"publicKey": {"hint": "team\nkey"}}
    assert read(attestations.bundle(ONE, verificationMaterial=hint)).said.signed_by == "key teamkey"

    old = statement(ONE.upper(), _type="https://in-toto.io/Statement/v0.1")
    unnamed = envelope(old, payloadType="application/vnd.in-toto.provenance+json", signatures=[{"sig": "_-8="}])
    assert read(unnamed, "application/vnd.in-toto.provenance+dsse").said == envelopes.Said((ONE,), PROVENANCE)


@for_each_row(
    ("content", "said"),
    [
        (b"", "is not valid JSON"),
        (b"{", "is not valid JSON"),
        (b"\xff{}", "is not valid JSON"),
        (b"[]", "expected a JSON object"),
        (b'{"payloadType": 1, "payloadType": 2}', "repeats the key 'payloadType'"),
        (b'{"payloadType": NaN}', "contains NaN"),
        (b'{"payloadType":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "is nested too deeply"),
        (b'{"payloadType":' + b"[" * 120 + b"]" * 120 + b"}", "is nested too deeply"),
        (b'{"payloadType":' + b"9" * 10_000 + b"}", "is not valid JSON"),
        (b'{"some": "document"}', "neither payloadType nor mediaType"),
    ],
)
def test_what_is_no_such_document_is_refused(content, said):
    assert said in refusal(content)


@for_each_row(
    ("change", "said"),
    [
        ({"payloadType": "text/plain"}, "payloadType is 'text/plain', expected application/vnd.in-toto+json"),
        ({"payloadType": None}, "payloadType is missing"),
        ({"signatures": []}, "signatures is [], expected at least one signature"),
        ({"signatures": None}, "signatures is missing"),
        ({"signatures": ["x"]}, "signatures[0] is 'x'"),
        ({"signatures": [{"keyid": "k"}]}, "signatures[0].sig is missing"),
        ({"signatures": [{"sig": "%%"}]}, "signatures[0].sig is '%%', expected bytes in base64"),
        ({"signatures": [{"sig": "AA==", "keyid": 7}]}, "signatures[0].keyid is 7"),
        ({"signatures": [{"sig": "AA=="}] * 101}, "signatures has 101 entries"),
        ({"payload": "%garbage%"}, "payload is '%garbage%', expected bytes in base64"),
        ({"payload": ""}, "payload is ''"),
        ({"payload": "AAAA"}, "The payload is not valid JSON"),
        ({"payload": attestations.text(b"[" * 5000 + b"]" * 5000)}, "The payload is nested too deeply"),
    ],
)
def test_a_malformed_envelope_is_refused(change, said):
    document = envelope(statement(ONE), **change)
    assert said in refusal({key: value for key, value in document.items() if key == "payloadType" or value is not None})
    if "payloadType" not in change:
        assert said in refusal(attestations.bundled(dsseEnvelope=document))


@for_each_row(
    ("change", "said"),
    [
        ({"_type": "https://in-toto.io/Statement/v9"}, "_type of the statement is"),
        ({"predicateType": ""}, "predicateType is ''"),
        ({"predicateType": "a\0b"}, "predicateType is"),
        ({"predicateType": "x" * 201}, "at most 200 characters"),
        ({"subject": []}, "subject of the statement is []"),
        ({"subject": {"a": 1}}, "subject of the statement is"),
        ({"subject": ["x"]}, "subject[0] of the statement is 'x'"),
        ({"subject": [{"digest": {"sha256": "short"}}]}, "the sha256 of subject[0] is 'short', expected 64 hex digits"),
        ({"subject": [{"digest": {"gitCommit": "c" * 40}}]}, "no subject of the statement has a sha256"),
        ({"subject": [{"digest": {"sha256": ONE}}] * 10_000}, "10,000 subjects, expected at most 1,024"),
    ],
)
def test_a_malformed_statement_is_refused(change, said):
    assert said in refusal(envelope(statement(ONE, **change)))


@for_each_row(
    ("change", "said"),
    [
        ({"mediaType": "application/vnd.dev.sigstore.bundle.v0.1+json"}, "mediaType of the bundle is"),
        ({"mediaType": 3}, "mediaType of the bundle is 3"),
        ({"dsseEnvelope": None}, "neither dsseEnvelope nor messageSignature"),
        ({"messageSignature": {}}, "both dsseEnvelope and messageSignature"),
        ({"dsseEnvelope": "x"}, "dsseEnvelope is 'x'"),
        ({"verificationMaterial": None}, "verificationMaterial is missing"),
        ({"verificationMaterial": {"tlogEntries": []}}, "verificationMaterial has tlogEntries"),
        ({"verificationMaterial": {"publicKey": {"hint": 3}}}, "publicKey.hint is 3"),
        ({"verificationMaterial": {"certificate": {"rawBytes": "%"}}}, "rawBytes is '%'"),
        (
            {"verificationMaterial": {"certificate": {"rawBytes": "AAAA"}}},
            "The certificate in the bundle cannot be read",
        ),
    ],
)
def test_a_malformed_bundle_is_refused(change, said):
    assert said in refusal(attestations.bundle(ONE, **change))


@for_each_row(
    ("digest", "said"),
    [
        (None, "messageDigest is missing"),
        ({"algorithm": "SHA1", "digest": "AAAA"}, "expected a digest by SHA2_256"),
        ({"algorithm": "SHA2_256", "digest": "AAAA"}, "has 3 bytes, expected 32"),
    ],
)
def test_a_signature_of_unknown_bytes_is_refused(digest, said):
    signature = {"messageDigest": digest, "signature": "AAAA"}
    assert said in refusal(attestations.bundled(messageSignature=signature))


def test_a_certificate_whose_extension_is_no_text_is_refused(monkeypatch):
    monkeypatch.setattr("tests.builders.attestations.asn1.encode_der", lambda _: b"\x0c\xffbroken")
    der = certificate(identity="https://broken.example.com")
    material = {"certificate": {"rawBytes": attestations.text(der)}}
    assert "cannot be read" in refusal(attestations.bundle(ONE, verificationMaterial=material))


@for_each_row("media_type", ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded", BUNDLE[:-5]])
def test_another_media_type_is_refused_before_the_document_is_read(media_type):
    with pytest.raises(OtherMediaType, match="expected application/vnd"):
        read(b"not read", media_type)


def test_the_media_type_must_fit_the_document():
    assert "a DSSE envelope, expected a Sigstore bundle" in refusal(attestations.dsse(ONE), BUNDLE)
    assert "a Sigstore bundle, expected a DSSE envelope" in refusal(attestations.bundle(ONE), DSSE)


def test_a_file_of_several_lines_is_named_as_such():
    lines = attestations.bundle(ONE) + b"\n" + attestations.bundle(TWO)
    with pytest.raises(AttestationInvalid) as refused:
        read(lines)
    assert "attach each of them" in refused.value.hint
