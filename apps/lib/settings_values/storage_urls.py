"""The address of object storage: `s3://bucket/prefix?region=eu-central-1&encryption=aws:kms`, `azure://…`, `gs://…`."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from apps.lib.errors import Invalid

OPTIONS = ("endpoint", "public_endpoint", "region", "addressing", "encryption", "kms_key")
ADDRESSING = ("auto", "path", "virtual")
KMS = ("aws:kms", "aws:kms:dsse")
ENCRYPTION = ("AES256", *KMS)


@dataclass(frozen=True, slots=True)
class S3Address:
    """An empty value leaves the choice to the server or to the usual settings of AWS clients.

    `public_endpoint` is the address under which clients reach the storage, if it is another one.
    """

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    public_endpoint: str = ""
    region: str = ""
    addressing: str = ""
    encryption: str = ""
    kms_key: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises Invalid. Its text has no value of an option, because people write secrets there."""
        hint = "Give the keys as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the host a role."
        bucket, prefix, options = _parts(url, "An S3 address", OPTIONS, hint)
        _require_one_of("addressing", options, ADDRESSING)
        _require_one_of("encryption", options, ENCRYPTION)
        if options.get("kms_key") and options.get("encryption") not in KMS:
            raise Invalid("The option kms_key needs encryption=aws:kms.")
        for name in ("endpoint", "public_endpoint"):
            _require_endpoint(name, options.get(name, ""))
        return cls(bucket, prefix, **options)

    @property
    def clients_endpoint(self) -> str:
        return self.public_endpoint or self.endpoint


@dataclass(frozen=True, slots=True)
class AzureAddress:
    """`azure://container/prefix?account=acmelarder`. Without an `endpoint` it is the account's at Microsoft."""

    container: str
    prefix: str
    account: str
    endpoint: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises Invalid."""
        hint = "Give the key of the account as LARDER_AZURE_KEY_FILE."
        container, prefix, options = _parts(url, "An Azure address", ("account", "endpoint"), hint)
        if not options.get("account"):
            raise Invalid(
                "The option account is missing.", hint="Name the storage account: azure://container?account=acmelarder"
            )
        _require_endpoint("endpoint", options.get("endpoint", ""))
        return cls(container, prefix, **options)

    @property
    def clients_endpoint(self) -> str:
        return self.endpoint or f"https://{self.account}.blob.core.windows.net"


@dataclass(frozen=True, slots=True)
class GoogleAddress:
    """`gs://bucket/prefix`. Without an `endpoint` it is Google's."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises Invalid."""
        hint = "Name the file of a service account as GOOGLE_APPLICATION_CREDENTIALS."
        bucket, prefix, options = _parts(url, "A Google Cloud Storage address", ("endpoint",), hint)
        _require_endpoint("endpoint", options.get("endpoint", ""))
        return cls(bucket, prefix, **options)


ADDRESSES: dict[str, type[S3Address] | type[AzureAddress] | type[GoogleAddress]] = {
    "s3": S3Address,
    "azure": AzureAddress,
    "gs": GoogleAddress,
}


def check(url: str) -> None:
    """Raises Invalid if it is the address of object storage and cannot be read, or that of no folder."""
    parts = urlsplit(url)
    if parts.scheme == "file" and (parts.netloc or not parts.path.strip("/")):
        raise Invalid("This is not a folder: expected file:/// and its path.")
    if kind := ADDRESSES.get(urlsplit(url).scheme):
        kind.parse(url)


def _parts(url: str, what: str, known: tuple[str, ...], hint: str) -> tuple[str, str, dict[str, str]]:
    """Return bucket, prefix and options."""
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise Invalid(f"{what} takes no user name or password.", hint=hint)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if unknown := sorted(options.keys() - set(known)):
        raise Invalid(f"Unknown option {unknown[0][:40]!r}: expected one of {', '.join(known)}.")
    return parts.netloc, parts.path.strip("/"), options


def _require_one_of(name: str, options: dict[str, str], allowed: tuple[str, ...]) -> None:
    value = options.get(name, "")
    if value and value not in allowed:
        raise Invalid(f"The option {name} has an unknown value: expected one of {', '.join(allowed)}.")


def _require_endpoint(name: str, value: str) -> None:
    parts = urlsplit(value)
    if value and (parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc):
        raise Invalid(f"The option {name} is not a server: expected an address such as https://s3.acme.example:9000.")
