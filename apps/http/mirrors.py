"""Providers of other registries, as both mirror edges serve them; registry_site/wiring.py fills in `others`.

The edges must not import the room behind it: without that room Larder serves its own providers alone.
"""

from dataclasses import dataclass
from typing import Protocol

from apps.accounts.access.gate import Viewer
from apps.lib.mirrored import HostedProvider, MirroredPackage


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for a mirrored provider. `until`: how long the request can wait, in time.monotonic()."""

    viewer: Viewer
    user_agent: str
    client: str  # its address, for rate limits
    until: float


class OtherRegistries(Protocol):
    """Every method but `has` is the gate as well. They raise

    - CredentialsRequired or NotFound for what is hidden, not there or switched off (D8);
    - jobs.waiting.NotYet until a worker has fetched it;
    - RegistryError of code "forbidden", with rule and date, for what policy or trust refuses;
    - Unavailable, with the URL of the registry and its answer, where it is away and nothing is stored.
    """

    def has(self, host: str) -> bool:
        """Tell whether this host is mirrored; `host` as clients write it."""

    def versions(self, asker: Asker, provider: HostedProvider) -> list[str]:
        """Return what policy lets this asker see, highest first."""

    def packages(self, asker: Asker, provider: HostedProvider, version: str) -> list[MirroredPackage]:
        """Return the packages by the verified sums, whether their bytes are stored or not."""

    def sized_packages(self, asker: Asker, provider: HostedProvider, version: str) -> list[MirroredPackage]:
        """The same, each with its size, which the manifests of the OCI mirror name."""

    def stored(self, asker: Asker, provider: HostedProvider, version: str, filename: str) -> MirroredPackage:
        """Return a package whose bytes are stored and verified: its digest is a blob."""

    def is_public(self, provider: HostedProvider) -> bool:
        """Tell whether anybody may fetch it; else links carry their own permission."""

    def record_use(self, asker: Asker, provider: HostedProvider, version: str, filename: str) -> None:
        """Count a fetch. Writes nothing before the answer (D15)."""


others: OtherRegistries | None = None
