"""Module packages: what a tag or a digest of a module's repository means, and how a pushed one becomes a release."""

from apps.lib import versions
from apps.lib.errors import Invalid
from apps.oci.authentication import Caller
from apps.oci.models import Manifest, Repository
from apps.oci.repositories import Found
from apps.oci.served import Served
from apps.releases.models import Release

LATEST = "latest"


def is_release_tag(tag: str) -> bool:
    """Strict SemVer (D10), with `_` for `+`. `v1.2.0`, `1.2` and `01.2.3` are ordinary tags."""
    try:
        versions.parse(version_of(tag))
    except Invalid:
        return False
    return True


def version_of(tag: str) -> str:
    return tag.replace("_", "+")


def tag_of(version: str) -> str:
    return version.replace("+", "_")


def served_by_tag(found: Found, tag: str) -> Served | None:
    """The release of that tag; for `latest` whatever it means now, be it a row. None: look at the rows of tags."""
    raise NotImplementedError


def served_by_digest(found: Found, digest: str) -> Served | None:
    """The release with that manifest. None: look at the rows of manifests. Raises ManifestUnknown for what is in
    quarantine or removed, whatever the rows say.
    """
    raise NotImplementedError


def listed_tags(found: Found) -> list[str]:
    """The tags of listed releases, and `latest` where one of them is it; in no order, beside the rows of tags."""
    raise NotImplementedError


def archive_of(found: Found, sha256: str) -> Release | None:
    """A published release of the module with these bytes, none of which are in quarantine."""
    raise NotImplementedError


def holds_empty_config(found: Found) -> bool:
    """Whether some manifest of ours names the empty config `{}`, so that it may be read there without a row."""
    raise NotImplementedError


def publish(caller: Caller, repository: Repository, manifest: Manifest, tag: str) -> None:
    """Make a stored manifest the release that its strict-SemVer tag names; returns once it is published.

    Never inside a transaction: it waits for a worker. Raises ManifestInvalid with the reasons, VersionTaken, TooLarge,
    or Unavailable where it is not decided after LARDER_OCI_PUBLISH_SECONDS: the same push again answers then.
    """
    raise NotImplementedError


def check(caller: Caller, repository: Repository, manifest: Manifest) -> None:
    """The checks of every module package, without a release: for `latest`. Raises ManifestInvalid with the reasons.

    What is no module package is let through: it is stored untouched.
    """
    raise NotImplementedError
