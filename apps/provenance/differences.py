"""The differences between the origin of a release and that of the version before, in words."""

from dataclasses import dataclass

from apps.accounts.identity.trusted.vendors import VENDORS
from apps.accounts.models import User
from apps.provenance.origin import Facts
from apps.releases.models import Release
from apps.releases.origin.models import Origin, Way

CODES = (
    "first",
    "unknown",
    "way",
    "vendor",
    "issuer",
    "repository",
    "repository-id",
    "workflow",
    "ref",
    "environment",
    "publisher",
    "key",
    "approval",
    "same",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """`code` never changes, for programs."""

    code: str
    sentence: str


def of(found: Facts, *, with_people: bool) -> list[Difference]:
    """Return at least one. Names of people only `with_people`."""
    if found.before is None:
        newcomer = _newcomer(found, with_people=with_people)
        address = found.release.address
        return [Difference("first", f"There is no lower version of {address} to compare with."), *newcomer]
    listed = [
        *_ways(found, found.before),
        *_runs(found, found.before),
        *_commits(found, found.before),
        *_people(found, found.before, with_people=with_people),
        *_keys(found, found.before),
        *_approvals(found, found.before),
    ]
    return listed or [Difference("same", f"The same as {found.before.release.version}.")]


def _ways(found: Facts, before: Facts) -> list[Difference]:
    version = before.release.version
    if before.origin is None or found.origin is None:
        if before.origin is None and found.origin is None:
            text = f"Where this release and {version} come from is not recorded: an older Larder published them."
        else:
            which = version if before.origin is None else "this release"
            text = f"Where {which} comes from is not recorded: an older Larder published it."
        return [Difference("unknown", text)]
    if _kind(found) == _kind(before):
        return []
    return [Difference("way", f"{version} {_said(before)}; this one {_said(found)}.")]


def _kind(found: Facts) -> str:
    if found.vendor:
        return "ci" if found.is_verified else "ci and others"
    assert found.origin is not None  # noqa: S101  # the caller has asked
    return f"{found.origin.way}{' machine' if found.is_by_machine else ''}"


def _said(found: Facts) -> str:
    if found.vendor:
        return f"came from CI ({found.vendor}){'' if found.is_verified else ', with bytes that others sent'}"
    assert found.origin is not None  # noqa: S101  # as above
    by = " by a service account" if found.is_by_machine else ""
    return {
        Way.PAGE: f"was published manually{by}",
        Way.API: f"was published{by} with an API token",
        Way.OCI: f"was pushed over OCI{by}",
        Way.COMMAND: "was published by Larder itself",
        Way.GIT: "was fetched from Git",
    }[Way(found.origin.way)]


def _runs(found: Facts, before: Facts) -> list[Difference]:
    """Of two that came from CI."""
    one, two = before.origin, found.origin
    if one is None or two is None or not before.vendor or not found.vendor:
        return []
    if one.vendor != two.vendor:
        return [Difference("vendor", f"Another CI: {found.vendor}, not {before.vendor}.")]
    if one.issuer != two.issuer:
        return [Difference("issuer", f"Another server: {two.issuer}, not {one.issuer}.")]
    listed = []
    if _changed(before.value("repository"), found.value("repository")):
        listed.append(_other("repository", "repository", before.value("repository"), found.value("repository")))
    elif _changed(_repository_id(one), _repository_id(two)):
        was = f"The repository has the same name as that of {before.release.version}"
        text = f"{was} but a different id: it was created again."
        listed.append(Difference("repository-id", text))
    if _changed(_file(before), _file(found)):
        listed.append(_other("workflow", "workflow", _file(before), _file(found)))
    if _changed(_sort_of_ref(before), _sort_of_ref(found)):
        version = before.release.version
        text = f"{version} came from {_sort_of_ref(before)}, this one from {_sort_of_ref(found)}."
        listed.append(Difference("ref", text))
    if _environment(one) != _environment(two):
        text = f"{before.release.version} ran {_environment(one)}, this one {_environment(two)}."
        listed.append(Difference("environment", text))
    return listed


def _commits(found: Facts, before: Facts) -> list[Difference]:
    """Of two that were fetched from Git."""
    if {one.origin.way if one.origin else "" for one in (found, before)} != {Way.GIT}:
        return []
    listed = []
    if _changed(before.value("repository"), found.value("repository")):
        listed.append(_other("repository", "repository", before.value("repository"), found.value("repository")))
    one, two = before.value("signature"), found.value("signature")
    if one != two:
        version = before.release.version
        listed.append(Difference("signature", f"The signature of the tag is {two}; that of {version} was {one}."))
    return listed


def _changed(before: str, after: str) -> bool:
    return bool(before and after) and before.lower() != after.lower()


def _other(code: str, what: str, before: str, after: str) -> Difference:
    return Difference(code, f"Another {what}: {after}, not {before}.")


def _file(found: Facts) -> str:
    """The workflow without the ref at which it was read."""
    return found.value("workflow").partition("@")[0]


def _sort_of_ref(found: Facts) -> str:
    ref = found.value("ref")
    return "a tag" if ref.startswith("refs/tags/") else "a branch" if ref.startswith("refs/heads/") else ""


def _claim(origin: Origin, field: str) -> str:
    declared = VENDORS[origin.vendor].field_named(field)
    return str(origin.claims.get(declared.claim, "") or "") if declared else ""


def _repository_id(origin: Origin) -> str:
    return _claim(origin, "repository_id").strip("{}")


def _environment(origin: Origin) -> str:
    name = _claim(origin, "environment")
    return f"in the environment {name}" if name else "in no environment"


def _people(found: Facts, before: Facts, *, with_people: bool) -> list[Difference]:
    """Of two that people or service accounts published; who publishes from CI is said by repository and workflow."""
    was, now = before.release.created_by, found.release.created_by
    if found.vendor or found.release.created_by_id is None or was == now:
        return []
    if newcomer := _newcomer(found, with_people=with_people):
        return newcomer
    if before.vendor or not with_people:
        return [] if before.vendor else [Difference("publisher", "Published by someone else.")]
    return [
        Difference("publisher", f"{before.release.version} was published by {_name(was)}, this one by {_name(now)}.")
    ]


def _newcomer(found: Facts, *, with_people: bool) -> list[Difference]:
    """Return a difference if the publisher has published nothing under this address before."""
    release, person = found.release, found.release.created_by
    if person is None or found.vendor:
        return []
    earlier = Release.objects.filter(
        kind=release.kind,
        namespace=release.namespace_id,
        name=release.name,
        created_by=person,
        published_at__lt=release.published_at,
    )
    if earlier.exists():
        return []
    who = _name(person) if with_people else "this publisher"
    return [Difference("publisher", f"The first release of {release.address} by {who}.")]


def _name(person: User | None) -> str:
    return person.shown_name if person else "a former user"


def _keys(found: Facts, before: Facts) -> list[Difference]:
    if found.key is None or before.key is None or found.key.pk == before.key.pk:
        return []
    return [_other("key", "signing key", before.key.key_id, found.key.key_id)]


def _approvals(found: Facts, before: Facts) -> list[Difference]:
    if (found.approval is None) == (before.approval is None):
        return []
    version = before.release.version
    if found.approval is None:
        return [Difference("approval", f"{version} was approved by another person; this one was not.")]
    return [Difference("approval", f"This one was approved by another person; {version} was not.")]
