"""The origin of one release, for its Origin page and the API: who published it, from which commit, approved by whom,
signed by which key, and how its origin differs from that of the version before.

Only claims of an id token whose signature Larder checked are called verified, and only if all bytes came from that run.
Names of people are for viewers who are known, raw claims for those who may publish: the caller decides.
"""

from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from apps.accounts.identity.trusted import links
from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import User
from apps.provenance import subjects
from apps.provenance.models import Attestation, Statement
from apps.provenance.strengths import Strength, strength_of
from apps.provenance.subjects import Subject
from apps.releases.models import Kind, Release
from apps.releases.origin.models import PEOPLE, Approval, Origin, Way, joined
from apps.signing.models import SigningKey

LABELS = {
    "registry": "Registry",
    "repository": "Repository",
    "commit": "Commit",
    "ref": "Ref",
    "workflow": "Workflow",
    "run": "Run",
    "actor": "Started by",
    "tagger": "Tagged by",
    "signature": "Signature of the tag",
    "bundle": "Bundle",
}
JOINED = (
    "namespace",
    "created_by",
    "origin__publisher",
    "approval__decided_by",
    "approval__first_by",
    "provider_version__key",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """`url` is empty where the vendor has no page for it; `host` is where the link leads."""

    name: str
    value: str
    url: str = ""

    @property
    def label(self) -> str:
        return LABELS[self.name]

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


@dataclass(frozen=True, slots=True)
class Participant:
    """Another token, run or person that sent bytes of it or opened its draft."""

    way: str
    token_label: str
    person: User | None
    facts: list[Fact]


@dataclass(frozen=True, slots=True)
class Facts:
    """`before` is the next lower published version. `origin` is None for releases of an older Larder."""

    release: Release
    origin: Origin | None
    strength: Strength
    facts: list[Fact]
    others: list[Participant] = field(default_factory=list)
    approval: Approval | None = None
    key: SigningKey | None = None
    subjects: list[Subject] = field(default_factory=list)
    statement: Statement | None = None
    attestations: list[Attestation] = field(default_factory=list)
    before: "Facts | None" = None

    @property
    def is_verified(self) -> bool:
        return self.strength == Strength.VERIFIED_CLAIMS

    @property
    def vendor(self) -> str:
        """Such as GitHub Actions; empty without a trusted publisher."""
        if self.origin is None or self.origin.vendor not in VENDORS:
            return ""
        return VENDORS[self.origin.vendor].label

    @property
    def way(self) -> str:
        """The way it came in, in words that follow "published"."""
        if self.vendor:
            return f"by {self.vendor}" if self.is_verified else f"by {self.vendor}, with bytes that others sent"
        if self.origin is None:
            return ""
        by = "a service account" if self.is_by_machine else "a person"
        return {
            Way.PAGE: f"by {by} in a browser",
            Way.API: f"by {by} with an API token",
            Way.OCI: f"by {by} with a push over OCI",
            Way.COMMAND: "by Larder itself",
            Way.GIT: "from Git",
        }[Way(self.origin.way)]

    @property
    def is_by_machine(self) -> bool:
        return self.release.created_by is not None and self.release.created_by.is_service

    def shown_facts(self, *, with_people: bool) -> list[Fact]:
        return _without_people(self.facts) if not with_people else self.facts

    def shown_others(self, *, with_people: bool) -> list[Participant]:
        if with_people:
            return self.others
        return [replace(one, facts=_without_people(one.facts), person=None) for one in self.others]

    def value(self, name: str) -> str:
        return next((fact.value for fact in self.facts if fact.name == name), "")


def of(release: Release) -> Facts:
    """Return the facts of a published release and of the one before, in a fixed number of queries."""
    row = Release.objects.select_related(*JOINED).get(pk=release.pk)
    lower = Release.objects.published().filter(
        kind=row.kind, namespace=row.namespace_id, name=row.name, sort_key__lt=bytes(row.sort_key)
    )
    before = lower.select_related(*JOINED).newest_first().first()
    statement = Statement.objects.select_related("key").defer("envelope").filter(release=row).first()
    attestations = list(
        Attestation.objects.defer("content").filter(release=row).select_related("added_by").order_by("added_at", "pk")
    )
    return _facts(
        row,
        subjects=subjects.of_release(row),
        statement=statement,
        attestations=attestations,
        before=_facts(before) if before else None,
    )


def line_of(release: Release) -> str:
    """Say it in one line: `published by GitHub Actions from acme/vpc at 0a4d55a8d778 (verified)`."""
    origin = joined(release, "origin")
    if origin is None:
        return "not recorded: published by an older Larder"
    found = Facts(release, origin, strength_of(origin), facts_of(origin))
    if not found.is_verified and origin.way != Way.GIT:
        return f"published {found.way} (not verified)"
    place = f" from {found.value('repository')}" if found.value("repository") else ""
    commit = f" at {found.value('commit')[:12]}" if found.value("commit") else ""
    if origin.way == Way.GIT:
        return f"published from Git:{place}{commit} (fetched by Larder)"
    return f"published {found.way}{place}{commit} (verified)"


def facts_of(origin: Origin) -> list[Fact]:
    """Return them with their links, in the order that every vendor shares."""
    linked: dict[str, str] = origin.links
    if origin.vendor in VENDORS:
        linked = links.of(VENDORS[origin.vendor], origin.issuer, origin.claims)
    return [Fact(name, str(origin.facts[name]), linked.get(name, "")) for name in LABELS if origin.facts.get(name)]


def _facts(
    release: Release,
    *,
    subjects: list[Subject] | None = None,
    statement: Statement | None = None,
    attestations: list[Attestation] | None = None,
    before: Facts | None = None,
) -> Facts:
    origin, approval = joined(release, "origin"), joined(release, "approval")
    is_approved = approval is not None and approval.allows(release.digest)
    version = joined(release, "provider_version") if release.kind == Kind.PROVIDER else None
    return Facts(
        release=release,
        origin=origin,
        strength=strength_of(origin),
        facts=facts_of(origin) if origin else [],
        others=_others(origin) if origin else [],
        approval=approval if is_approved else None,
        key=version.key if version else None,
        subjects=subjects or [],
        statement=statement,
        attestations=attestations or [],
        before=before,
    )


def _without_people(facts: list[Fact]) -> list[Fact]:
    return [fact for fact in facts if fact.name not in PEOPLE]


def _others(origin: Origin) -> list[Participant]:
    people = User.objects.in_bulk([one["by"] for one in origin.others if one["by"]]) if origin.others else {}
    return [
        Participant(
            Way(one["way"]).label if one["way"] else "",
            one["token_label"],
            people.get(one["by"]),
            [Fact(name, str(one["facts"][name])) for name in LABELS if one["facts"].get(name)],
        )
        for one in origin.others
    ]
