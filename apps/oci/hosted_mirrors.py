"""The provider mirror of other registries: as mirrors.py, of what `http.mirrors.others` knows under their host names.

It raises NotYet besides, where a worker has to fetch something first.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from apps.accounts.access.asking import Asker
from apps.artifacts.errors import BlobUnknown, ManifestUnknown
from apps.artifacts.names import Digest, ProviderMirror, tag_of, version_of
from apps.http import mirrors as registries
from apps.http.mirrors import OtherRegistries
from apps.lib import versions
from apps.lib.errors import CredentialsRequired, Invalid, NotFound, UnknownOrPrivate
from apps.lib.mirrored import HostedProvider, MirroredDocument, MirroredPackage, OtherClientsOnly, VersionUnknown
from apps.oci import mirrors
from apps.oci.authentication import Caller


def require_visible(caller: Caller, mirror: ProviderMirror, asker: Asker) -> None:
    with _found(caller, mirror) as (others, hosted):
        others.require_visible(asker, hosted.host)


def tags(caller: Caller, mirror: ProviderMirror, asker: Asker) -> tuple[list[str], float]:
    """One tag for each version that policy shows, and for how many seconds that holds."""
    with _found(caller, mirror) as (others, hosted):
        found = others.versions(asker, hosted)
    return sorted(map(tag_of, found.numbers)), found.seconds


def document(caller: Caller, mirror: ProviderMirror, reference: str, asker: Asker) -> MirroredDocument:
    with _found(caller, mirror) as (others, hosted):
        try:
            if ":" in reference:
                return others.document(asker, hosted, str(Digest.parse(reference)))
            with suppress(Invalid):
                return others.index(asker, hosted, versions.parse(version_of(reference)).text)
            others.versions(asker, hosted)  # another tag: NameUnknown where nothing is here
        except VersionUnknown:
            pass
    raise ManifestUnknown(f"There is no manifest {reference} of {mirror.hostname}/{mirror.address}.")


def blob(caller: Caller, mirror: ProviderMirror, digest: str, asker: Asker) -> MirroredPackage | None:
    """The package with these bytes (`sha256:…`); None for the empty config `{}`."""
    with _found(caller, mirror) as (others, hosted):
        try:
            return others.stored_by_digest(asker, hosted, digest)
        except VersionUnknown:
            raise BlobUnknown(f"There is no blob {digest} of {mirror.hostname}/{mirror.address}.") from None


def record_use(mirror: ProviderMirror, package: MirroredPackage) -> None:
    hosted = mirrors.hosted(mirror)
    if hosted is not None and registries.others is not None:
        registries.others.record_use(hosted, package)


@contextmanager
def _found(caller: Caller, mirror: ProviderMirror) -> Iterator[tuple[OtherRegistries, HostedProvider]]:
    """Find the mirror; a challenge first, then NameUnknown, for what is hidden and for what is not mirrored."""
    hosted, others = mirrors.hosted(mirror), registries.others
    try:
        if hosted is None or others is None:
            raise NotFound(mirror.hostname)
        yield others, hosted
    except VersionUnknown:
        raise
    except OtherClientsOnly as refusal:
        raise mirrors.unknown(mirror, hint=str(refusal)) from None
    except (NotFound, CredentialsRequired):
        if not caller.has_token:
            raise UnknownOrPrivate from None
        raise mirrors.unknown(mirror) from None
