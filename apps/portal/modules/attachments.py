"""Signatures, SBOMs and attestations of a version, and other tags of its repository, for its pages."""

import re
from dataclasses import dataclass
from typing import Any

from apps.artifacts import attachments
from apps.artifacts.attachments import MAX_ATTACHMENTS, Attachment
from apps.modules.models import Module, ModuleVersion
from apps.snippets.client_setup import wire_host

MAX_TAGS = 50
# By a part of the artifact type, or by the suffix of an older client's tag; the first match.
_NAMES = (
    ("sigstore.bundle", "Sigstore bundle"),
    ("cosign.artifact.sig", "Signature (cosign)"),
    ("notary.signature", "Signature (Notation)"),
    ("cyclonedx", "SBOM (CycloneDX)"),
    ("spdx", "SBOM (SPDX)"),
    ("in-toto", "Attestation (in-toto)"),
    ("slsa", "Attestation (SLSA)"),
    ("sarif", "Findings (SARIF)"),
    (".sig", "Signature (cosign)"),
    (".att", "Attestation (cosign)"),
    (".sbom", "SBOM (cosign)"),
)
_DIGEST_IN_TAG = re.compile(r"^sha256-[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    kind: str
    attachment: Attachment
    command: str


def attachments_of(shown: ModuleVersion) -> dict[str, Any]:
    """Empty in quarantine; the page gives out no bytes."""
    module, digest = shown.module, shown.manifest_digest
    address = module.address
    attached = []
    if digest and not shown.release.quarantined_at:
        path = address.path_name.lower()
        attached = attachments.attached_to(module.namespace, path, digest)
    # Without the digest in a tag: it is this version's, which the page shows already.
    rows = [
        Row(
            next((name for piece, name in _NAMES if piece in one.kind), "Artifact"),
            _DIGEST_IN_TAG.sub("tag sha256-…", one.kind),
            one,
            f"oras pull {wire_host()}/{address.repository}@{one.digest}",
        )
        for one in attached[:MAX_ATTACHMENTS]
    ]
    return {"attached": rows, "attached_most": MAX_ATTACHMENTS if len(attached) > MAX_ATTACHMENTS else 0}


def tags_of(module: Module) -> dict[str, Any]:
    tags = attachments.moved_tags(module.namespace, module.address.path_name.lower(), most=MAX_TAGS + 1)
    return {"tags": tags[:MAX_TAGS], "tags_most": MAX_TAGS if len(tags) > MAX_TAGS else 0}
