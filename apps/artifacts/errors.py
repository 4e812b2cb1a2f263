"""Refusals that the distribution specification has a code for: `manifest_invalid` is its MANIFEST_INVALID."""

from apps.lib.errors import RegistryError


class NameInvalid(RegistryError):
    code = "name_invalid"


class NameUnknown(RegistryError):
    code = "name_unknown"


class DigestInvalid(RegistryError):
    code = "digest_invalid"


class BlobUnknown(RegistryError):
    code = "blob_unknown"


class UploadUnknown(RegistryError):
    code = "blob_upload_unknown"


class UploadInvalid(RegistryError):
    code = "blob_upload_invalid"


class OutOfOrder(UploadInvalid):
    """A chunk does not begin where the last one ended. The upload stays open."""

    code = "blob_upload_out_of_order"

    def __init__(self, next_byte: int) -> None:
        super().__init__(
            f"The next chunk of this upload begins at byte {next_byte}.",
            hint="Ask the upload's URL for the bytes received, and continue from there.",
        )
        self.next_byte = next_byte


class ManifestUnknown(RegistryError):
    code = "manifest_unknown"


class ManifestInvalid(RegistryError):
    code = "manifest_invalid"


class ManifestBlobUnknown(RegistryError):
    code = "manifest_blob_unknown"


class TooManyTags(RegistryError):
    code = "too_many_tags"


class Unsupported(RegistryError):
    code = "unsupported"
