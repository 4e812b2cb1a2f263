"""The origins of the shelf's releases: one from CI that a person approved, one whose claims say nasty things."""

import hashlib
from typing import Any

from django.utils import timezone

from apps.accounts.models import User
from apps.provenance.models import Attestation, Form
from apps.releases.models import Release
from apps.releases.origin.models import Approval, Decision, Origin, Way
from tests.builders.ci_claims import GITHUB, GITHUB_ISSUER, STEP

FACTS = {
    "repository": "repository",
    "commit": "sha",
    "ref": "ref",
    "workflow": "workflow_ref",
    "run": "run_id",
    "actor": "actor",
}


def place(admin: User, hostile: str) -> None:
    verified = _release("network/aws", "2.0.0")
    _from_ci(verified, {**GITHUB.claims, "repository": "acme/network"})
    now = timezone.now()
    decided: dict[str, Any] = {"asked_at": now, "until": now, "decided_at": now, "decided_by": admin}
    Approval.objects.create(
        release=verified, digest=verified.digest, decision=Decision.APPROVED, has_second_factor=True, **decided
    )
    for form, signer in (
        (Form.BUNDLE, "https://github.com/acme/network/.github/workflows/release.yml"),
        (Form.DSSE, ""),
    ):
        _attest(verified, admin, form, signer)
    other = _release("hostile/null", "1.0.0")
    _from_ci(other, dict.fromkeys(GITHUB.claims, hostile))
    _attest(other, admin, Form.BUNDLE, hostile)
    entry = {"by": admin.pk, "way": Way.PAGE, "token_label": hostile, "facts": {"run": STEP * 3, "commit": hostile}}
    Origin.objects.filter(release=other).update(others=[entry], token_label=hostile)


def show(password: str) -> None:
    """For the README: a release from CI that another person approved, and a password to look at it with."""
    maya, jonas = (User.objects.get(username=name) for name in ("maya", "jonas"))
    maya.set_password(password)
    maya.save()
    release = Release.objects.get(namespace__name="acme", name="vpc/aws", version="2.1.0")
    repository, ref = "acme/terraform-aws-vpc", "refs/tags/v2.1.0"
    workflow = f"{repository}/.github/workflows/release.yml@{ref}"
    said = {"repository": repository, "ref": ref, "workflow_ref": workflow, "actor": "maya"}
    _from_ci(release, {**GITHUB.claims, **said})
    at = release.published_at
    decided: dict[str, Any] = {"asked_at": at, "until": at, "decided_at": at, "decided_by": jonas}
    Approval.objects.create(
        release=release, digest=release.digest, decision=Decision.APPROVED, has_second_factor=True, **decided
    )


def _release(name: str, version: str) -> Release:
    return Release.objects.get(namespace__name="shelf", name=name, version=version)


def _from_ci(release: Release, claims: dict[str, Any]) -> None:
    facts = {name: claims[claim] for name, claim in FACTS.items()}
    Origin.objects.filter(release=release).update(vendor="github", issuer=GITHUB_ISSUER, claims=claims, facts=facts)


def _attest(release: Release, admin: User, form: Form, signer: str) -> None:
    content = f"{release} {form} {signer}".encode()
    digest = hashlib.sha256(content).hexdigest()
    Attestation.objects.create(
        release=release,
        form=form,
        media_type="application/json",
        predicate_type=signer or "https://slsa.dev/provenance/v1",
        subjects=[release.digest],
        signed_by=signer,
        content=content,
        digest=digest,
        size=len(content),
        manifest_digest=f"sha256:{digest}",
        added_by=admin,
    )
