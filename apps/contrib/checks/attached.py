"""Reports that come as OCI referrers of a version: `oras attach` names the check by the name of the file."""

import re
from pathlib import PurePosixPath

from apps.accounts.access.gate import Viewer
from apps.artifacts.manifest_format import Descriptor
from apps.artifacts.models import Manifest
from apps.contrib.checks import sending
from apps.contrib.checks.models import MAX_NAME
from apps.contrib.checks.reading import confined, shape
from apps.contrib.checks.sending import Sent, Target
from apps.lib import versions
from apps.lib.digests import check_size
from apps.oci.attaching import Reader, Record
from apps.releases.models import Kind, Release

MEDIA_TYPES = frozenset({"application/sarif+json", "application/vnd.junit+xml"})
_DEFAULTS = {"application/sarif+json": "sarif", "application/vnd.junit+xml": "junit"}


def _check_size(_release: Release, size: int) -> None:
    check_size(size, limit=shape.MAX_BYTES, what="The report")


def _read(viewer: Viewer, release: Release, layer: Descriptor, content: bytes) -> Record:
    report, sha256 = confined.read(viewer, [content])
    version = versions.parse(release.version)
    target = Target(Kind(release.kind), release.namespace, release.name, version, release)
    name = name_of(layer)

    def record(sender: Viewer, _manifest: Manifest) -> object:
        return sending.send(viewer=sender, target=target, name=name, sent=Sent(report, sha256, release.digest))

    return record


def name_of(layer: Descriptor) -> str:
    """The file's name as the name of a check: `results_sarif.sarif` is `results_sarif`."""
    stem = PurePosixPath(layer.title).name.partition(".")[0].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", stem).strip("._-")[:MAX_NAME] or _DEFAULTS[layer.media_type]


REPORTS = Reader("report", MEDIA_TYPES, _check_size, _read, "docs/checks.md says which reports Larder reads.")
