"""Providers of other registries, as both mirror edges serve them; the room that has them fills in `others`.

The edges must not import the room behind it: without that room Larder serves its own providers alone.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Protocol

from apps.accounts.access.asking import Asker
from apps.accounts.access.gate import Viewer
from apps.lib.mirrored import (
    HostedProvider,
    MirroredCopy,
    MirroredDocument,
    MirroredPackage,
    MirroredProof,
    MirroredVersion,
    MirroredVersions,
    OpenLink,
    PackageLink,
)


class OtherRegistries(Protocol):
    """Every method but the last five is the gate as well. They raise

    - CredentialsRequired or NotFound for what is not mirrored, hidden, not there or switched off (D8); OtherClientsOnly
      and VersionUnknown where the asker sees that much;
    - TooManyAttempts for who has had too much fetched;
    - jobs.waiting.NotYet until a worker has fetched it;
    - RegistryError of code "forbidden", with rule and date, for what policy or trust refuses;
    - Unavailable, with the URL of the registry and its answer, where it is away and nothing is stored.
    """

    def require_visible(self, asker: Asker, host: str) -> None:
        """Nothing but the gate."""

    def versions(self, asker: Asker, provider: HostedProvider) -> MirroredVersions:
        """Return what policy lets this asker see."""

    def version(self, asker: Asker, provider: HostedProvider, number: str) -> MirroredVersion:
        """Return the packages by the verified sums, whether their bytes are stored or not. VersionUnknown for none."""

    def stored(
        self, asker: Asker, provider: HostedProvider, number: str, filename: str, *, capability: str = ""
    ) -> MirroredPackage:
        """Return a package whose bytes are stored and verified: its digest is a blob.

        `capability`: of a link that carries its own permission. It opens what is hidden, and nothing that is refused.
        """

    def fetchable(self, links: Collection[PackageLink]) -> Mapping[PackageLink, OpenLink]:
        """Return the packages that a client with these links may fetch right now, without waiting and by any client.

        A few queries for all. What is missing is left to `stored`, which says why.
        """

    def index(self, asker: Asker, provider: HostedProvider, number: str) -> MirroredDocument:
        """Return a version's index in the OCI mirror, for which each package needs its size."""

    def document(self, asker: Asker, provider: HostedProvider, digest: str) -> MirroredDocument:
        """Return an index or a manifest by its digest, `sha256:…`."""

    def stored_by_digest(self, asker: Asker, provider: HostedProvider, digest: str) -> MirroredPackage | None:
        """Return the package like `stored`, for `sha256:…`; None for the empty config."""

    def record_use(self, provider: HostedProvider, package: MirroredPackage) -> None:
        """Count a fetch. Writes nothing before the answer (D15)."""

    def copied_providers(self) -> Iterator[HostedProvider]:
        """Yield the providers of which a copy has something: those with stored packages."""

    def copied(self, provider: HostedProvider) -> MirroredCopy | None:
        """Return what a copy has: the stored packages that policy shows to every reader of that host, without asking
        another registry. None for what is not mirrored, switched off, or served to some clients alone.
        """

    def proof(self, provider: HostedProvider, number: str) -> MirroredProof:
        """Return what the packages of a version in `copied` are verified by."""

    def take(
        self,
        provider: HostedProvider,
        number: str,
        files: Mapping[str, str],
        *,
        proof: Callable[[], MirroredProof],
        read: Callable[[str], Iterable[bytes]],
        viewer: Viewer,
        origin: str,
    ) -> bool:
        """Store packages that another Larder mirrors, once their sums are verified; False if they are stored already.

        `files`: the SHA-256 of each by name, `read`: the bytes by that. `origin` says where they come from. A registry
        that is not mirrored here is added in offline mode. Raises RoleRequired, and Conflict for what is not trusted.
        """


others: OtherRegistries | None = None
