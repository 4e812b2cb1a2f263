"""The key services by the URLs of their keys: `awskms://alias/larder?region=…`, `vault+https://…/transit/keys/larder`."""

import hashlib
import re
from dataclasses import dataclass
from typing import ClassVar, Self
from urllib.parse import parse_qsl, urlsplit

from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import is_safe
from apps.lib.settings_values.kek_urls import KeyAddress

_ARN = re.compile(r"arn:[a-z-]+:kms:([a-z0-9-]+):\d{12}:(key|alias)/[A-Za-z0-9/_-]+")
_AWS_NAME = re.compile(r"alias/[A-Za-z0-9/_-]+|[A-Za-z0-9-]+")
# Vault allows more in names; these need no escaping in a path.
_VAULT_PATH = re.compile(r"/(?:v1/)?(?P<mount>[\w.-]+(?:/[\w.-]+)*)/keys/(?P<name>[\w.-]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class AwsAddress(KeyAddress):
    """`key` is an alias, a key id or an ARN. An empty value leaves the choice to the usual settings of AWS clients."""

    kind: ClassVar[str] = "AWS KMS"
    schemes: ClassVar[tuple[str, ...]] = ("awskms",)
    example: ClassVar[str] = "awskms://alias/larder"
    service: ClassVar[str] = "apps.contrib.kms.aws.AwsService"

    key: str
    region: str = ""
    endpoint: str = ""
    profile: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises Invalid."""
        # Not urlsplit's host: an ARN has colons, which are no port.
        key = url.partition("://")[2].partition("?")[0].lstrip("/")
        options = _options(url, ("region", "endpoint", "profile"))
        arn = _ARN.fullmatch(key)
        if arn is None and not _AWS_NAME.fullmatch(key):
            raise Invalid(
                "An awskms: address must include a key.",
                hint="Write awskms://alias/NAME, awskms://KEY-ID or awskms://ARN, with ?region=… for the first two.",
            )
        endpoint = options.get("endpoint", "")
        if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
            raise Invalid("The option endpoint is not a server: expected an address such as https://kms.acme.example.")
        return cls(key, **({"region": arn[1]} if arn else {}) | options)

    @property
    def id(self) -> str:
        return _id("awskms", self.region, self.key)

    @property
    def title(self) -> str:
        return f"AWS KMS, {self.key}"


@dataclass(frozen=True, slots=True)
class VaultAddress(KeyAddress):
    """A key of Vault's (or OpenBao's) transit engine. Exactly one of `token_file` and `kubernetes_role` is set."""

    kind: ClassVar[str] = "Vault"
    schemes: ClassVar[tuple[str, ...]] = ("vault+https", "vault+http")
    example: ClassVar[str] = "vault+https://vault.acme.example:8200/transit/keys/larder"
    service: ClassVar[str] = "apps.contrib.kms.vault.VaultService"

    server: str  # https://vault.acme.example:8200
    mount: str
    key: str
    token_file: str = ""
    kubernetes_role: str = ""
    kubernetes_mount: str = "kubernetes"
    namespace: str = ""
    ca: str = ""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Raises Invalid. Its text has no value of an option, because people write secrets there."""
        options = _options(url, ("token_file", "kubernetes_role", "kubernetes_mount", "namespace", "ca"))
        address = url.removeprefix("vault+").partition("?")[0]
        if not is_safe(address, loopback=True):
            raise Invalid(
                "A Vault address has no host, has a user name, or is plain http to another machine.",
                hint="Write vault+https://HOST:8200/transit/keys/NAME; vault+http is only for this machine.",
            )
        parts = urlsplit(address)
        path = _VAULT_PATH.fullmatch(parts.path)
        if path is None:
            raise Invalid(
                "The path of a Vault address names no transit key.",
                hint="Write the mount of the engine and the key: vault+https://HOST:8200/transit/keys/NAME",
            )
        if bool(options.get("token_file")) == bool(options.get("kubernetes_role")):
            raise Invalid(
                "A Vault address needs exactly one of the options token_file and kubernetes_role.",
                hint="Name a file with a token, such as the one that Vault Agent writes: "
                "?token_file=/run/secrets/vault_token",
            )
        return cls(f"{parts.scheme}://{parts.netloc}", path["mount"], path["name"], **options)

    @property
    def id(self) -> str:
        return _id("vault", self.server, self.namespace, self.mount, self.key)

    @property
    def secret_file(self) -> str:
        return self.token_file

    @property
    def title(self) -> str:
        return f"Vault at {urlsplit(self.server).netloc}, {self.mount}/keys/{self.key}"


KINDS = (AwsAddress, VaultAddress)


def _options(url: str, known: tuple[str, ...]) -> dict[str, str]:
    options = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    if unknown := sorted(options.keys() - set(known)):
        raise Invalid(f"Unknown option {unknown[0][:40]!r}: expected one of {', '.join(known)}.")
    return options


def _id(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
