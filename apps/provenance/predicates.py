"""Larder's statement about a release: SLSA provenance v1, of the publication and not of a build.

Larder is the registry that published it: its inputs are the bytes that came in, its outputs those that clients receive.
So it names itself as the builder of that, and what a CI said about itself stands under `larder_origin`, with its
strength. Everyone who may read the release may read the statement, which never changes: it names no person, not even by
a number, so that a public namespace shows none and a person who was erased is in none (docs/security.md).
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from apps.accounts.identity.trusted import links
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.provenance.strengths import Strength, strength_of
from apps.provenance.subjects import Subject
from apps.releases.models import Kind, Release
from apps.releases.origin.models import PEOPLE, Approval, Origin, Way

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
# After the public URL, so that it leads to what it means.
BUILD_TYPE = "/help/statements#publication-v1"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def statement(
    release: Release, subjects: list[Subject], origin: Origin | None, approval: Approval | None
) -> dict[str, Any]:
    """Return the in-toto statement. The same release always gives the same."""
    linked = _links_of(origin)
    return {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": one.name, "digest": one.digests} for one in subjects],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": f"{settings.PUBLIC_URL}{BUILD_TYPE}",
                "externalParameters": {
                    "address": release.address,
                    "kind": release.kind,
                    "version": release.version,
                },
                # What Larder itself decided.
                "internalParameters": {
                    "release": str(release.public_id),
                    "served": {"sha256": release.digest},
                    "folder": release.folder,
                    "was_repacked": bool(release.uploaded_digest)
                    and release.kind == Kind.MODULE
                    and release.uploaded_digest != release.digest,
                },
                "resolvedDependencies": [*_upload(release), *_commit(origin, linked)],
            },
            "runDetails": {
                "builder": {"id": settings.PUBLIC_URL},
                "metadata": {
                    "invocationId": linked.get("run") or f"urn:uuid:{release.public_id}",
                    "startedOn": _moment(release.received_at or release.created_at),
                    "finishedOn": _moment(release.published_at),
                },
            },
            "larder_origin": _origin(origin, linked),
            "larder_approval": _approval(release, approval),
        },
    }


def _upload(release: Release) -> list[dict[str, Any]]:
    """The bytes as they came in; of a provider the digest of the sums of its packages. Not recorded: left out."""
    if not release.uploaded_digest:
        return []
    name = "upload" if release.kind == Kind.MODULE else "sha256 of the sums of the uploaded packages"
    return [{"name": name, "digest": {"sha256": release.uploaded_digest}}]


def _commit(origin: Origin | None, linked: Mapping[str, str]) -> list[dict[str, Any]]:
    """The commit that verified claims name: Larder has not read it, and says so. Or the one that it fetched."""
    if origin is not None and origin.way == Way.GIT and _COMMIT.fullmatch(origin.facts.get("commit", "")):
        return [
            {
                "uri": f"git+{origin.facts['url']}@{origin.facts['ref']}",
                "digest": {"gitCommit": origin.facts["commit"]},
                "annotations": {"larder_basis": "fetched by Larder, which published its files"},
            }
        ]
    if origin is None or not origin.is_verified or "repository" not in linked:
        return []
    commit, ref = origin.facts.get("commit", ""), origin.facts.get("ref", "")
    if not _COMMIT.fullmatch(commit):
        return []
    return [
        {
            "uri": f"git+{linked['repository']}{f'@{ref}' if ref else ''}",
            "digest": {"gitCommit": commit},
            "annotations": {"larder_basis": "named by the verified id token; Larder has not read the repository"},
        }
    ]


def _origin(origin: Origin | None, linked: Mapping[str, str]) -> dict[str, Any]:
    strength = strength_of(origin)
    if origin is None:
        return {"strength": strength}
    # `others` sent a part of the bytes, so the claims of one run are not those of all of them.
    found: dict[str, Any] = {"strength": strength, "way": origin.way, "others": len(origin.others)}
    if strength == Strength.VERIFIED_CLAIMS:
        found |= {
            "vendor": origin.vendor,
            "issuer": origin.issuer,
            "facts": {name: value for name, value in sorted(origin.facts.items()) if name not in PEOPLE},
            "links": {name: value for name, value in sorted(linked.items()) if name not in PEOPLE},
            "claims": _public_claims(origin),
        }
    if strength == Strength.GIT:
        hidden = {*PEOPLE, "url"}
        found["facts"] = {name: value for name, value in sorted(origin.facts.items()) if name not in hidden}
        found["links"] = dict(sorted(origin.links.items()))
    return found


def _public_claims(origin: Origin) -> dict[str, Any]:
    """The claims that rules are compared with, which name repositories, files and ids.

    Others may name people: GitLab writes the address of the pipeline's starter into its tokens.
    """
    vendor = VENDORS.get(origin.vendor)
    if vendor is None:
        return {}
    people = {vendor.origin[name] for name in PEOPLE if name in vendor.origin}
    named = {*(one.claim for one in vendor.fields), *vendor.origin.values()} - people
    return {name: origin.claims[name] for name in sorted(named) if name in origin.claims}


def _approval(release: Release, approval: Approval | None) -> dict[str, Any] | None:
    """Of these very bytes, by someone else than the author; None if none is recorded."""
    if approval is None or not approval.allows(release.digest):
        return None
    said = {
        "by": "a person other than the author" if approval.token_id is None else "the API token of another account",
        "digest": {"sha256": approval.digest},
        "approvedOn": _moment(approval.decided_at),
        "secondFactor": approval.has_second_factor,
    }
    if approval.needs_two:
        said["by"] = "two people who took no part in it"
        said["secondFactor"] = approval.has_second_factor and approval.first_has_second_factor
    return said


def _links_of(origin: Origin | None) -> dict[str, str]:
    if origin is None or not origin.is_verified or origin.vendor not in VENDORS:
        return {}
    return links.of(VENDORS[origin.vendor], origin.issuer, origin.claims)


def _moment(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if at else None
