"""The facts that an approver sees of a release on its page: what differs, where it comes from, and what is unusual."""

from typing import Any

from apps.accounts.access.gate import Viewer
from apps.portal.frame.forms import sentence
from apps.provenance.origin import LABELS
from apps.releases.catalogue.comparing import Severity
from apps.releases.models import Kind, Release
from apps.releases.origin.models import Approval, Origin
from apps.releases.publishing import approving, deciding

TITLES = {Severity.BREAKING: "Breaking", Severity.RISKY: "Risky", Severity.COMPATIBLE: "Compatible"}


def context_of(viewer: Viewer, release: Release, approval: Approval) -> dict[str, Any]:
    """For templates/portal/release/approval.html."""
    refused = deciding.refusal_of(release, viewer)
    found = approval.comparison
    changes = found.get("changes", [])
    groups = [(title, [one for one in changes if one["severity"] == name]) for name, title in TITLES.items()]
    origin = Origin.objects.filter(release=release).first()
    return {
        "approval": approval,
        "refused": "" if refused is None else sentence(refused),
        "may_cancel": refused is not None and approving.may_cancel(release, viewer),
        "may_decline": refused is None or approving.may_decline(release, viewer),
        "found": found,
        "is_module": release.kind == Kind.MODULE,
        "groups": [(title, rows) for title, rows in groups if rows],
        "origin": origin,
        "facts": [(label, origin.facts[name]) for name, label in LABELS.items() if origin and origin.facts.get(name)],
    }
