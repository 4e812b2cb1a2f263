"""Reports that come as OCI referrers of a version: `oras attach` names the check by the name of the file."""

import re
from pathlib import PurePosixPath

from apps.accounts.access.gate import Viewer
from apps.artifacts.manifest_format import Descriptor
from apps.artifacts.models import Manifest
from apps.contrib.checks import sending
from apps.contrib.checks.models import MAX_NAME
from apps.contrib.checks.reading import confined, shape
from apps.lib.digests import check_size
from apps.oci.attaching import Reader, Record
from apps.releases.models import Release

_NAMES = {"application/sarif+json": "sarif", "application/vnd.junit+xml": "junit"}


def _check_size(_release: Release, size: int) -> None:
    check_size(size, limit=shape.MAX_BYTES, what="The report")


def _read(viewer: Viewer, release: Release, layer: Descriptor, content: bytes) -> Record:
    read, name = confined.read(viewer, [content]), name_of(layer)

    def record(sender: Viewer, _manifest: Manifest) -> object:
        return sending.send(viewer=sender, release=release, name=name, read=read, digest=release.digest)

    return record


def name_of(layer: Descriptor) -> str:
    """The file's name as the name of a check: `results_sarif.sarif` is `results_sarif`."""
    stem = PurePosixPath(layer.title).name.partition(".")[0].lower()
    return re.sub(r"[^a-z0-9._-]+", "-", stem).strip("._-")[:MAX_NAME] or _NAMES[layer.media_type]


REPORTS = Reader("report", frozenset(_NAMES), _check_size, _read, "docs/checks.md says which reports Larder reads.")
