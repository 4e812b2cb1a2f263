"""Compare the claims of an id token with a rule: what the rule expects, and what is wrong."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from apps.accounts.identity.trusted.declarations import Field, How, Vendor
from apps.contrib.trusted.refusals import shown

Claims = Mapping[str, Any]
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Mismatch:
    claim: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """The value that a rule expects of one claim."""

    claim: str
    how: How
    value: Any
    is_lenient: bool = False

    @property
    def text(self) -> str:
        """The value as the preview shows it."""
        return f"{self.value}…" if self.how is How.FILE else "true" if self.how is How.TRUE else str(self.value)

    def is_met(self, found: Any) -> bool:
        if found is None:
            return self.is_lenient
        return _MET[self.how](found, self.value)


def audience_of(vendor: Vendor) -> str:
    return vendor.audience or str(settings.PUBLIC_URL)


def wanted(vendor: Vendor, issuer: str, fields: Fields, *, claims: Claims | None = None) -> list[Wanted]:
    """Return what the rule expects, in the order of the declaration.

    With `claims` a repository in templates is written as they write it, for its letter case is the vendor's.
    """
    if not vendor.fields:
        return [Wanted(claim, How.TEXT, value) for claim, value in sorted(fields.get("claims", {}).items())]
    names = {"host": urlsplit(issuer).netloc, **fields, **(_as_written(vendor, fields, claims) if claims else {})}
    found = []
    for one in vendor.fields:
        value = fields.get(one.name)
        template = (one.template if value else one.otherwise) if one.how is How.FILE else ""
        if template:
            found.append(
                Wanted(one.claim, one.how, template.format_map(names), is_lenient=one.is_lenient and not value)
            )
        elif value and one.claim:
            found.append(Wanted(one.claim, one.how, value))
    return found


def expected(vendor: Vendor, issuer: str, fields: Fields, pinned: Fields) -> dict[str, Any]:
    """Return the claims that would pass, for people: an id that is not known yet says when it will be."""
    shown_claims: dict[str, Any] = {"iss": issuer, "aud": audience_of(vendor)}
    for one in wanted(vendor, issuer, {**fields, **pinned}):
        shown_claims[one.claim] = one.value if not vendor.fields else one.text
    for field in unpinned(vendor, {**fields, **pinned}):
        shown_claims[field.claim] = "(pinned at the first exchange)"
    return shown_claims


def unpinned(vendor: Vendor, fields: Fields) -> list[Field]:
    return [one for one in vendor.fields if one.pins and not fields.get(one.name)]


def pins_in(vendor: Vendor, fields: Fields, claims: Claims) -> dict[str, str]:
    """Return the immutable ids that the claims add to the fields."""
    return {one.name: text for one in unpinned(vendor, fields) if (text := _id_text(claims.get(one.claim)))}


def is_near(vendor: Vendor, fields: Fields, claims: Claims) -> bool:
    """Return whether the token is meant for the rule, so that its owner sees why it was refused: by what names the
    repository, or by one exact claim.
    """
    if not vendor.fields:
        return any(_is_equal(claims.get(claim), value) for claim, value in fields.get("claims", {}).items())
    return any(
        value is not None and _MET[one.how](claims.get(one.claim), value)
        for one in vendor.fields
        if one.identifies and one.claim and (value := fields.get(one.name)) and claims.get(one.claim) is not None
    )


def mismatches(vendor: Vendor, issuer: str, fields: Fields, claims: Claims, *, now: datetime) -> Iterator[Mismatch]:
    """Yield what is wrong, the audience and what no rule accepts first. `fields` include pinned ids."""
    audience = claims.get("aud")
    if isinstance(audience, list) and len(audience) == 1:
        audience = audience[0]
    if audience != audience_of(vendor):
        yield Mismatch("aud", f"found {_said(claims, 'aud')}, expected {audience_of(vendor)} alone.")
    if vendor.max_age is not None and not now.timestamp() - claims["iat"] < vendor.max_age.total_seconds():
        minutes = vendor.max_age.total_seconds() / 60
        yield Mismatch("iat", f"it is older than {minutes:.0f} minutes, the limit for {vendor.label}.")
    yield from _refused(vendor, claims)
    for one in wanted(vendor, issuer, fields, claims=claims):
        if not one.is_met(claims.get(one.claim)):
            yield Mismatch(one.claim, f"found {_said(claims, one.claim)}, expected {shown(one.text)}.")
    for field in unpinned(vendor, fields):
        if not _id_text(claims.get(field.claim)):
            yield Mismatch(
                field.claim, f"found {_said(claims, field.claim)}, expected an id to pin. {field.help}".strip()
            )


def _refused(vendor: Vendor, claims: Claims) -> Iterator[Mismatch]:
    for refusal in vendor.refusals:
        value = claims.get(refusal.claim)
        if value is None:
            continue
        if not isinstance(value, str | int):  # bool and numbers of pull requests among them
            yield Mismatch(refusal.claim, f"found {_said(claims, refusal.claim)}, expected text.")
        elif refusal.applies_to(value if isinstance(value, str) else str(value).lower()):
            yield Mismatch(refusal.claim, f"found {_said(claims, refusal.claim)}: {refusal.why}.")
    for claim in vendor.present:
        if not isinstance(claims.get(claim), str) or not claims[claim]:
            yield Mismatch(
                claim, f"found {_said(claims, claim)}, expected text: without it a pull request is not told."
            )
    for claim, other in vendor.same:
        if claim in claims and _id_text(claims[claim]) != _id_text(claims.get(other)):
            yield Mismatch(
                claim,
                f"found {_said(claims, claim)}, expected that of {other}, {_said(claims, other)}: "
                "the job runs for a fork, or in another project.",
            )


def _as_written(vendor: Vendor, fields: Fields, claims: Claims) -> dict[str, str]:
    found = {}
    for one in vendor.fields:
        value = claims.get(one.claim)
        if one.how is How.CASELESS and isinstance(value, str) and fields.get(one.name, "").lower() == value.lower():
            found[one.name] = value
    return found


def _said(claims: Claims, claim: str) -> str:
    return shown(claims[claim]) if claim in claims else "none"


def _id_text(value: Any) -> str:
    """`{4F1B…}`, 17 and `17` alike; empty for what is no id."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value).strip("{}").casefold()


def _is_equal(found: Any, value: Any) -> bool:
    """Compare as JSON: 1 is not true, and not "1"."""
    return type(found) is type(value) and bool(found == value)


def _is_ref(found: Any, value: str) -> bool:
    if not isinstance(found, str):
        return False
    return found.startswith(value[:-1]) if value.endswith("*") else found == value


_MET: dict[How, Callable[[Any, Any], bool]] = {
    How.TEXT: _is_equal,
    How.CASELESS: lambda found, value: isinstance(found, str) and found.lower() == value.lower(),
    How.ID: lambda found, value: bool(_id_text(found)) and _id_text(found) == _id_text(value),
    How.FILE: lambda found, value: isinstance(found, str) and found.startswith(value) and len(found) > len(value),
    How.REF: _is_ref,
    How.TRUE: lambda found, _: found is True or found == "true",
    How.MEMBER: lambda found, value: isinstance(found, list) and value in found,
}
