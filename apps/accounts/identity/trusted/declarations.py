"""The parts of a vendor's declaration: the fields of a rule, the claims they are compared with, and refusals."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum

# What a template of a link has in place of a value.
PLACE = re.compile(r"\{([^{}]+)\}")


class How(Enum):
    """The way a field of a rule is compared with its claim."""

    TEXT = "text"  # equal
    CASELESS = "caseless"  # equal but for letter case, as the vendor compares such names
    ID = "id"  # equal, as text: vendors write ids as numbers, in braces, or in capitals
    FILE = "file"  # begins with the field's template; after it comes the ref of the file
    REF = "ref"  # equal, or begins with what stands before the * of the field
    TRUE = "true"  # true, as a value or as text
    MEMBER = "member"  # one of a list


@dataclass(frozen=True, slots=True)
class Field:
    """A value that an owner enters, under `name` in the API and the form.

    Without a `claim` it only takes part in templates, the issuer's among them. `pins`: an immutable id; if it is not
    given, the first exchange adds it. `identifies`: an id token with this value is meant for this rule, so its owner
    sees why it was refused. Of a file, `otherwise` is the template if the field is not given; then a claim that is
    missing is accepted if `is_lenient`. `strips` may stand before the value. `pattern`: what the whole value must
    match, because no token has another; the example shows it.
    """

    name: str
    label: str
    claim: str = ""
    how: How = How.TEXT
    help: str = ""
    example: str = ""
    is_required: bool = False
    pins: bool = False
    identifies: bool = False
    template: str = ""
    otherwise: str = ""
    is_lenient: bool = False
    strips: str = ""
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A claim with one of these values, beginnings or contents, or with any value, refuses every rule of the vendor."""

    claim: str
    why: str
    values: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    any_value: bool = False

    def applies_to(self, value: str) -> bool:
        if self.any_value:
            return value not in ("", "false")
        return (
            value.lower() in self.values
            or value.startswith(self.beginnings or ("\0",))
            or any(text in value for text in self.contents)
        )

    @property
    def sentence(self) -> str:
        if self.any_value:
            return f"{self.claim} is set: {self.why}"
        words = [*sorted(self.values), *(f"{text}…" for text in self.beginnings), *(f"…{t}…" for t in self.contents)]
        return f"{self.claim} is {' or '.join(words)}: {self.why}"


@dataclass(frozen=True, slots=True)
class Actor:
    """The claims by which the starter of a run can be found among accounts. A login or name is none: it can change
    hands.

    `ids`: their number at the vendor, which is the subject where people sign in with it. `addresses`: of mail.
    `identities`: a list of {"provider", "extern_uid"} of the vendor's own sign-on.
    """

    ids: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    identities: str = ""


@dataclass(frozen=True, slots=True)
class Vendor:
    """`issuer` is a template with fields of the rule; empty if each rule names one that LARDER_TRUSTED_ISSUERS lists.

    `present`: claims without which nothing could be refused. `same`: pairs of claims that are equal where the first one
    is present. `one_of`: fields of which a rule names at least one, where no claim tells a pull request. `protects`:
    fields of which a rule should name one. `audience`: what the vendor writes for everyone, in place of Larder's public
    URL. `has_jti`: its tokens have that claim; those of others are told apart by all that is signed. `origin`: which
    claims say where a release comes from. `actor`: which claims tell who started the run. `links`: templates of https
    URLs for these, filled by `links.of` with claims, with the named groups of `parts` (patterns of claims), and with
    the `site` that the first pattern of `sites` makes of the issuer.
    """

    kind: str
    label: str
    fields: tuple[Field, ...]
    refusals: tuple[Refusal, ...]
    issuer: str = ""
    present: tuple[str, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    one_of: tuple[str, ...] = ()
    protects: tuple[str, ...] = ()
    audience: str = ""
    max_age: timedelta | None = None
    weaker: str = ""
    has_jti: bool = True
    origin: Mapping[str, str] = field(default_factory=dict)
    actor: Actor = Actor()
    links: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    sites: tuple[tuple[str, str], ...] = ()

    def field_named(self, name: str) -> Field | None:
        return next((one for one in self.fields if one.name == name), None)

    @property
    def claims(self) -> frozenset[str]:
        """All that it names, so that they are kept of a token with many."""
        in_links = {name for template in self.links.values() for name in PLACE.findall(template)}
        compared = {one.claim for one in self.fields if one.claim}
        who = (*self.actor.ids, *self.actor.addresses)
        return frozenset({*compared, *self.origin.values(), *who, *self.parts, *in_links})

    @property
    def field_names(self) -> list[str]:
        return [one.name for one in self.fields]

    def site_of(self, issuer: str) -> str:
        """Return the URL at which people know the issuer, or an empty one."""
        found = (whole.expand(template) for pattern, template in self.sites if (whole := re.fullmatch(pattern, issuer)))
        return next(found, "")
