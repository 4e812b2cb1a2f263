"""The access to a repository: what operators allow, and the credential."""

import ssl
from dataclasses import dataclass, field

from apps.lib.net.addresses import Networks


@dataclass(frozen=True, slots=True)
class Access:
    """`authorization` is the header's value for https; `private_key` an OpenSSH private key; `host_keys` are pinned, as
    lines of known_hosts without the host.
    """

    trusted: ssl.SSLContext
    ca_file: str = ""
    allowed: Networks = ()
    proxy: str = ""
    authorization: str = field(default="", repr=False)
    private_key: str = field(default="", repr=False)
    host_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """`pack_bytes` come over the network; `tree_bytes` and `entries` are what a commit has, unpacked."""

    seconds: float = 240.0
    refs_bytes: int = 32 * 1024 * 1024
    refs: int = 50_000
    pack_bytes: int = 500 * 1024 * 1024
    tree_bytes: int = 512 * 1024 * 1024
    entries: int = 65_000


class GitFailed(Exception):
    """The repository's server failed or refused, in words for its owner. `code` is stable; `is_final`: asking again
    changes nothing.
    """

    def __init__(self, code: str, text: str, *, hint: str = "", is_final: bool = False) -> None:
        super().__init__(text)
        self.code, self.hint, self.is_final = code, hint, is_final
