"""URLs of key-encryption keys: `file:`, `awskms://alias/larder?region=…`, `vault+https://…/transit/keys/larder`."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self
from urllib.parse import parse_qsl, urlsplit

from apps.lib.errors import Invalid
from apps.lib.settings_values.identity_providers import is_safe

FILE = "file:"
EXAMPLES = "file:, awskms://alias/larder or vault+https://vault.acme.example:8200/transit/keys/larder"

_ARN = re.compile(r"arn:[a-z-]+:kms:([a-z0-9-]+):\d{12}:(key|alias)/[A-Za-z0-9/_-]+")
_AWS_NAME = re.compile(r"alias/[A-Za-z0-9/_-]+|[A-Za-z0-9-]+")
# Vault allows more in names; these need no escaping in a path.
_VAULT_PATH = re.compile(r"/(?:v1/)?(?P<mount>[\w.-]+(?:/[\w.-]+)*)/keys/(?P<name>[\w.-]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class AwsAddress:
    """`key` is an alias, a key id or an ARN. An empty value leaves the choice to the usual settings of AWS clients."""

    kind: ClassVar[str] = "AWS KMS"

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
class VaultAddress:
    """A key of Vault's (or OpenBao's) transit engine. Exactly one of `token_file` and `kubernetes_role` is set."""

    kind: ClassVar[str] = "Vault"

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
    def title(self) -> str:
        return f"Vault at {urlsplit(self.server).netloc}, {self.mount}/keys/{self.key}"


# None stands for the file of LARDER_SIGNING_KEK_FILE.
KekAddress = AwsAddress | VaultAddress | None


def parse_all(words: Iterable[str]) -> tuple[KekAddress, ...]:
    """Read addresses: the first encrypts, each of them opens what it encrypted. Raises Invalid."""
    found: list[KekAddress] = []
    for word in words:
        scheme = word.partition("://")[0]
        try:
            _ = urlsplit(word)
        except ValueError:
            raise Invalid(f"An address cannot be read: expected {EXAMPLES}.") from None
        if word == FILE:
            found.append(None)
        elif scheme == "awskms":
            found.append(AwsAddress.parse(word))
        elif scheme in ("vault+https", "vault+http"):
            found.append(VaultAddress.parse(word))
        elif word.startswith(FILE):
            hint = "Write file: alone, and the path as LARDER_SIGNING_KEK_FILE."
            raise Invalid("Found file: with a path.", hint=hint)
        else:
            raise Invalid(f"Found an address that begins with {scheme[:20]!r}: expected {EXAMPLES}.")
    if len(set(found)) != len(found):
        raise Invalid("The same key-encryption key is named twice.", hint="Name each key once, newest first.")
    return tuple(found)


def _options(url: str, known: tuple[str, ...]) -> dict[str, str]:
    options = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    if unknown := sorted(options.keys() - set(known)):
        raise Invalid(f"Unknown option {unknown[0][:40]!r}: expected one of {', '.join(known)}.")
    return options


def _id(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
