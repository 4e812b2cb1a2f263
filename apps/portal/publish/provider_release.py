"""The provider part of the release page: platforms, files with their faults, and what a draft is missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import Reason
from apps.lib.packages.sandboxed import ARCHITECTURES, SYSTEMS, Role
from apps.portal.publish.frame import limits_of_providers, owned_by
from apps.portal.publish.provider import ProtocolsForm
from apps.providers.drafting import drafts
from apps.providers.models import Signing
from apps.releases.models import Release, ReleaseFile, State
from apps.snippets import provider_snippets

# Labels of files; packages are labelled by their platform.
LABELS: dict[Role, str] = {
    "sums": "Checksums",
    "signature": "Signature",
    "manifest": "Manifest",
    "docs": "Documentation",
}


@dataclass(slots=True)
class FileRow:
    file: ReleaseFile
    label: str
    reasons: list[Reason] = field(default_factory=list)


def context_of(viewer: Viewer, release: Release) -> dict[str, Any]:
    """For templates/portal/release/page.html and its includes."""
    address = ProviderAddress(release.namespace.name, release.name)
    files = drafts.files_of(release)
    is_draft = release.state == State.RECEIVING
    wanted = urlencode({"namespace": address.namespace, "type": address.type, "version": release.version})
    context: dict[str, Any] = {"address": address, "is_provider": True, "is_draft": is_draft}
    # Operating systems in rows, processors in columns, a file or None in each cell.
    cells = {(name.os, name.arch): file for file, name in files.packages}
    systems = _known_first({os for os, _ in cells}, SYSTEMS)
    arches = _known_first({arch for _, arch in cells}, ARCHITECTURES)
    context |= {
        "rows": _rows(release),
        "matrix": {"arches": arches, "lines": [(os, [cells.get((os, arch)) for arch in arches]) for os in systems]},
        "usage": provider_snippets.required_block(address, release.version),
        "page_url": reverse("portal:provider-version", args=[address.namespace, address.type, release.version]),
        "again_url": f"{reverse('portal:provider-publish')}?{wanted}",
        "list_url": reverse("portal:providers"),
    }
    if not is_draft:
        return context
    missing = drafts.missing(release, files)
    context["is_own"] = release.created_by_id == viewer.user_id
    context["asks_protocols"] = files.manifest is None
    context["protocols"] = ProtocolsForm(initial={"protocols": drafts.declared_protocols(release)})
    context["protocols"].fields["protocols"].required = True  # for its label
    context["missing"] = [reason for reason in missing if reason.code != "protocols_unknown"]
    context["is_publisher_signed"] = files.signing == Signing.PUBLISHER
    context["signers"] = drafts.signers(type(release.namespace).objects.filter(pk=release.namespace_id))
    context["owned"] = owned_by(viewer)
    context["limits"] = limits_of_providers()
    return context


def step_texts(release: Release, document: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The label of each step, and its current details."""
    signs = (release.notes.get("signing") or document["signing"]) == Signing.REGISTRY
    count = len(document["files"])
    files = f"{count} file{'' if count == 1 else 's'}"
    received = f"{files} so far." if release.state == State.RECEIVING else f"{files}."
    checked = {
        State.RECEIVED: "Waiting for a worker.",
        State.CHECKING: "A worker checks every package and compares the checksums.",
    }
    signed = "Larder writes SHA256SUMS and signs it." if signs else ""
    stored = "The packages are being stored."
    return {
        "received": ("Received", received if count else "Waiting for its files."),
        "checked": ("Checked", checked.get(State(release.state), "") if not release.checked_at else ""),
        "approved": ("Approved", ""),
        "signed": ("Signed" if signs else "Signature verified", signed if _is_ending(release) else ""),
        "published": ("Published", stored if _is_ending(release) and release.signed_at else ""),
    }


def _is_ending(release: Release) -> bool:
    return release.checked_at is not None and release.state in (State.CHECKING, State.SIGNING)


def _rows(release: Release) -> list[FileRow]:
    """Each file with the reasons that name it; a reason about a member names the zip first."""
    reasons = release.refusals()
    rows = []
    for file in release.files.order_by("name"):
        platform = file.name.rpartition(f"_{release.version}_")[2].removesuffix(".zip")
        row = FileRow(file, LABELS.get(drafts.role_of(release, file.name), platform))
        row.reasons = [one for one in reasons if one.file == file.name or one.file.startswith(f"{file.name}: ")]
        rows.append(row)
    return sorted(rows, key=lambda row: not row.reasons)


def _known_first(words: Iterable[str], known: Sequence[str]) -> list[str]:
    return sorted(words, key=lambda word: (known.index(word) if word in known else len(known), word))
