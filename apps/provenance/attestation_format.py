"""The formats that publishers attach: a DSSE envelope or a Sigstore bundle, told apart by media type or by what the
document is.
"""

import re
from dataclasses import dataclass

from apps.lib.errors import RegistryError
from apps.provenance import envelopes, sigstore_bundles
from apps.provenance.envelopes import Said
from apps.provenance.models import Form

# Where nothing says which of the two it is. The document does.
_UNSAID = frozenset(("", "application/json", "application/octet-stream"))
_DSSE = re.compile(r"application/vnd\.(dsse\.envelope\.v1\+json|in-toto(\.[a-z0-9.-]+)?\+dsse)", re.ASCII)
# As they are stored and given out.
MEDIA_TYPES = {Form.DSSE: envelopes.ENVELOPE, Form.BUNDLE: sigstore_bundles.BUNDLE}


class OtherMediaType(RegistryError):
    code = "unsupported_media_type"


@dataclass(frozen=True, slots=True)
class Read:
    form: Form
    said: Said

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES[self.form]


def form_of(media_type: str) -> Form | None:
    """None for the media type of anything else."""
    if sigstore_bundles.is_media_type(media_type):
        return Form.BUNDLE
    return Form.DSSE if _DSSE.fullmatch(media_type) else None


def check_media_type(media_type: str) -> Form | None:
    """Return the form that was announced, None where the document decides. Raises OtherMediaType."""
    announced = form_of(media_type)
    if announced is None and media_type.partition(";")[0].strip().lower() not in _UNSAID:
        raise OtherMediaType(
            f"The media type is {media_type[:100]!r}, expected {envelopes.ENVELOPE} or {sigstore_bundles.BUNDLE}.",
            hint="Send one of these as Content-Type, or application/json.",
        )
    return announced


def read(content: bytes, media_type: str) -> Read:
    """Raises OtherMediaType, or AttestationInvalid for what is malformed."""
    announced = check_media_type(media_type)
    document = envelopes.parse(content, "The attestation")
    # Each has a field that the other has not.
    found = Form.DSSE if "payloadType" in document else Form.BUNDLE if "mediaType" in document else None
    if found is None:
        raise envelopes.expected(
            "the document has neither payloadType nor mediaType", "a DSSE envelope or a Sigstore bundle v0.3"
        )
    if announced not in (None, found):
        raise envelopes.expected(
            f"the document is a {found.label}", f"a {Form(announced).label}, as {media_type[:100]} says"
        )
    said_by = envelopes.said_by if found == Form.DSSE else sigstore_bundles.said_by
    return Read(found, said_by(document))
