"""What is attached to the releases of the scene, and what is sent to attach more."""

import hashlib

from apps.accounts.access.gate import Viewer
from apps.provenance import attesting
from apps.releases.models import Release
from tests.builders import attestations

ATTACHING = ("api:module-attestations", "api:provider-attestations")
NOWHERE = {"attestation": "0" * 64}
QUERIES = {(f"api:{kind}-attestation", "DELETE"): "?reason=No." for kind in ("module", "provider")}


def place(namespace, alice):
    """The same document at both releases."""
    releases = _releases(namespace.name)
    content = attestations.dsse(*(one.digest for one in releases))
    for release in releases:
        attesting.attach(release=release, viewer=Viewer(alice), content=content, media_type="")
    return {"attestation": hashlib.sha256(content).hexdigest()}


def bodies(namespace):
    content = attestations.dsse(*(one.digest for one in _releases(namespace)), "f" * 64)
    body = {"data": content, "content_type": attestations.DSSE}
    return {(name, "POST"): body for name in ATTACHING}


def _releases(namespace):
    rows = Release.objects.select_related("namespace").filter(namespace__name=namespace, version="1.0.0")
    return rows.order_by("pk")
