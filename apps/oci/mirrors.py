"""The provider mirror (D22): repositories of providers, derived from what is published; nobody pushes there.

Every function is the gate as well: CredentialsRequired without any token, NameUnknown with one, for what is hidden,
not there, or under a host name that is not ours (D8).
"""

from apps.oci.authentication import Caller
from apps.oci.references import ProviderMirror
from apps.oci.served import Served
from apps.providers.models import Package


def tags(caller: Caller, mirror: ProviderMirror) -> list[str]:
    """One tag for each listed version, `_` for `+`, in byte order."""
    raise NotImplementedError


def served(caller: Caller, mirror: ProviderMirror, reference: str) -> Served:
    """The index of a tag; an index or a platform's manifest by digest. Raises ManifestUnknown."""
    raise NotImplementedError


def blob(caller: Caller, mirror: ProviderMirror, digest: str) -> Package | None:
    """The package with these bytes (`sha256:…`); None for the empty config `{}`. Raises BlobUnknown."""
    raise NotImplementedError
