"""The document of a provider's draft for its publishers: its files, and what is missing (D24)."""

from typing import Any

from apps.lib.errors import Reason
from apps.providers.drafting import drafts
from apps.providers.models import Signing
from apps.releases.catalogue.documents import moment, release_document
from apps.releases.models import Release, ReleaseFile, State

_WHY = {
    Signing.PUBLISHER: "SHA256SUMS and its signature are here: they are verified, and served unchanged.",
    Signing.REGISTRY: "The publisher sent no signature: the registry writes SHA256SUMS and signs them.",
}


def draft_document(release: Release, *, with_names: bool = True) -> dict[str, Any]:
    """`files`, the recognised `platforms`, `signing` and its reason, `protocols`; `missing` while it is a draft."""
    files = drafts.files_of(release)
    is_draft = release.state == State.RECEIVING
    return release_document(release, with_names=with_names) | {
        "files": [file_document(file) for file in release.files.order_by("name")],
        "platforms": [f"{name.os}_{name.arch}" for _, name in files.packages],
        "protocols": release.notes.get("protocols") or drafts.declared_protocols(release),
        "signing": files.signing.value,
        "signing_why": _WHY[files.signing],
        "missing": [_reason_document(reason) for reason in drafts.missing(release, files)] if is_draft else [],
        "receiving_until": moment(release.receiving_until),
    }


def file_document(file: ReleaseFile) -> dict[str, Any]:
    role = drafts.role_of(file.release, file.name)
    return {"name": file.name, "role": role, "digest": f"sha256:{file.digest}", "size": file.size}


def _reason_document(reason: Reason) -> dict[str, str]:
    return {**reason.as_dict(), "sentence": reason.sentence}
