"""Reads a Sigstore bundle v0.3, as cosign 3 and GitHub's attestations write it, and the certificate in it.

https://docs.sigstore.dev/about/bundle/ and https://github.com/sigstore/fulcio/blob/main/docs/oid-info.md. Nothing here
verifies a signature, a certificate or a log entry: an identity is what the document names.
"""

import re
from dataclasses import replace
from typing import Any

from cryptography import x509
from cryptography.hazmat import asn1

from apps.provenance import envelopes
from apps.provenance.envelopes import AttestationInvalid, Said, decoded, expected, shown

BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
_MEDIA_TYPE = re.compile(
    r"application/vnd\.dev\.sigstore\.bundle(\.v0\.3\+json|\+json; ?version=0\.3)", re.ASCII | re.IGNORECASE
)
_SHA256 = "SHA2_256"
_SHA256_BYTES = 32
# Who vouched for the signer: in DER, and in an older form as plain bytes.
_ISSUER, _PLAIN_ISSUER = (x509.ObjectIdentifier(f"1.3.6.1.4.1.57264.1.{arc}") for arc in (8, 1))


def is_media_type(text: str) -> bool:
    return _MEDIA_TYPE.fullmatch(text) is not None


def said_by(bundle: dict[str, Any]) -> Said:
    """Read a bundle. Raises AttestationInvalid."""
    media_type = bundle.get("mediaType")
    if not isinstance(media_type, str) or not is_media_type(media_type):
        raise expected(f"mediaType of the bundle is {shown(media_type)}", BUNDLE)
    signer = _signer_of(bundle.get("verificationMaterial"))
    envelope, signature = bundle.get("dsseEnvelope"), bundle.get("messageSignature")
    if (envelope is None) == (signature is None):
        found = "neither dsseEnvelope nor" if envelope is None else "both dsseEnvelope and"
        raise expected(f"the bundle has {found} messageSignature", "one of the two")
    if signature is not None:
        return Said((_message_digest(signature),), signed_by=signer)
    if not isinstance(envelope, dict):
        raise expected(f"dsseEnvelope is {shown(envelope)}", "an object")
    return replace(envelopes.said_by(envelope), signed_by=signer)


def _message_digest(signature: Any) -> str:
    if not isinstance(signature, dict):
        raise expected(f"messageSignature is {shown(signature)}", "an object")
    decoded(signature.get("signature"), "messageSignature.signature")
    digest = signature.get("messageDigest")
    if not isinstance(digest, dict) or digest.get("algorithm") != _SHA256:
        raise expected(f"messageSignature.messageDigest is {shown(digest)}", f"a digest by {_SHA256}")
    found = decoded(digest.get("digest"), "messageSignature.messageDigest.digest")
    if len(found) != _SHA256_BYTES:
        raise expected(f"messageSignature.messageDigest.digest has {len(found)} bytes", f"{_SHA256_BYTES}")
    return found.hex()


def _signer_of(material: Any) -> str:
    """The identity in the certificate, or the hint of the public key."""
    if not isinstance(material, dict):
        raise expected(f"verificationMaterial is {shown(material)}", "an object")
    key = material.get("publicKey")
    if isinstance(key, dict):
        hint = key.get("hint") or ""
        if not isinstance(hint, str):
            raise expected(f"verificationMaterial.publicKey.hint is {shown(hint)}", "text")
        return f"key {envelopes.clean(hint)}" if envelopes.clean(hint) else ""
    chain = material.get("x509CertificateChain")
    listed = chain.get("certificates") if isinstance(chain, dict) else None
    certificate = listed[0] if isinstance(listed, list) and listed else material.get("certificate")
    if not isinstance(certificate, dict):
        raise expected(
            f"verificationMaterial has {', '.join(sorted(material))[:100] or 'nothing'}", "certificate or publicKey"
        )
    return _identity_of(decoded(certificate.get("rawBytes"), "verificationMaterial.certificate.rawBytes"))


def _identity_of(der: bytes) -> str:
    try:
        certificate = x509.load_der_x509_certificate(der)
        extensions = {one.oid: one.value for one in certificate.extensions}
        names = extensions.get(x509.SubjectAlternativeName.oid)
        identities = _texts_of(names) if isinstance(names, x509.SubjectAlternativeName) else []
        issuer = _issuer_of(extensions)
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise AttestationInvalid(f"The certificate in the bundle cannot be read: {error}.") from None
    identity = envelopes.clean(", ".join(identities))
    return f"{identity or 'nobody'}, issuer {issuer}"[:300] if issuer else identity


def _texts_of(names: x509.SubjectAlternativeName) -> list[str]:
    """Workflows are addresses, people are mail addresses, and users of a name are under an own type."""
    return [
        *names.get_values_for_type(x509.UniformResourceIdentifier),
        *names.get_values_for_type(x509.RFC822Name),
        *(asn1.decode_der(str, other.value) for other in names.get_values_for_type(x509.OtherName)),
    ]


def _issuer_of(extensions: dict[x509.ObjectIdentifier, x509.ExtensionType]) -> str:
    written, plain = extensions.get(_ISSUER), extensions.get(_PLAIN_ISSUER)
    if isinstance(written, x509.UnrecognizedExtension):
        return envelopes.clean(asn1.decode_der(str, written.value))
    return envelopes.clean(plain.value.decode()) if isinstance(plain, x509.UnrecognizedExtension) else ""
