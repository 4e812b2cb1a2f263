"""The shapes of answers. A shape renders what it describes; views declare it with `operation` and answer rows.

Those that several modules answer are here, the others beside their views.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar

from rest_framework.fields import SkipField
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    JSONField,
    ListField,
    Serializer,
    UUIDField,
)

from apps.accounts.models import Role
from apps.modules.comparing.changes import SENTENCES as MODULE_RULES
from apps.releases.catalogue.comparing import Change, Severity
from apps.releases.catalogue.progress import progress_of
from apps.releases.lifecycle.impact import Consequences as Weighed
from apps.releases.lifecycle.impact import Effect, Hitting
from apps.releases.models import Kind, Lifecycle, State
from apps.releases.models import Release as ReleaseRow
from apps.releases.origin.models import Decision

ROLES = {role.label.lower(): role for role in Role}


class Shape(Serializer[Any]):
    # No docstring: the OpenAPI document would have it. A method `<field>_of` gives a field the value that no attribute
    # of the row has. Neither asks the database.

    def get_fields(self) -> dict[str, Any]:
        """In the order of the base classes, the furthest first: an overridden field stays in its place. `from_` is the
        field `from`, a word of Python.
        """
        fields = super().get_fields()
        declared = (name for base in reversed(type(self).__mro__) for name in getattr(base, "_declared_fields", ()))
        return {name.removesuffix("_"): fields[name] for name in dict.fromkeys(declared)}

    @cached_property
    def _parts(self) -> list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]:
        return [
            (name, getattr(self, f"{name}_of", field.get_attribute), field.to_representation)
            for name, field in self.fields.items()
        ]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        """Render like the base class, with `<field>_of`."""
        document = {}
        for name, value_of, rendered in self._parts:
            try:
                value = value_of(instance)
            except SkipField:
                continue
            document[name] = None if value is None else rendered(value)
        return document


class With:
    """A row together with what the view found out about it."""

    def __init__(self, row: Any, **facts: Any) -> None:
        self.__dict__.update(facts, row=row)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)


class DigestField(CharField):
    """A SHA-256, which rows have in hexadecimal digits."""

    def to_representation(self, value: str) -> str:
        return f"sha256:{value}"


class RoleField(ChoiceField):
    """The role's name; null for none."""

    def __init__(self, **more: Any) -> None:
        super().__init__(choices=list(ROLES), **more)

    def get_attribute(self, instance: Any) -> Any:
        return super().get_attribute(instance) or None

    def to_representation(self, value: Any) -> str:
        return Role(value).label.lower()


class MomentField(DateTimeField):
    timezone = UTC  # of the settings, where the base class looks it up for each value


class OffsetField(DateTimeField):
    """A time that ends in +00:00 where the others end in Z, as clients know it."""

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


class PersonField(CharField):
    """A user, whose name only those who are known read."""

    def __init__(self, **more: Any) -> None:
        super().__init__(allow_null=True, **more)

    def get_attribute(self, instance: Any) -> Any:
        return super().get_attribute(instance) if self.context["viewer"].is_identified else None


def page(name: str, **rows: Any) -> type[Serializer[Any]]:
    """The shape of a page: `page("JobPage", jobs=Job(many=True))`."""
    return type(name, (Shape,), {**rows, "next": NextField()})


class NextField(CharField):
    def __init__(self) -> None:
        super().__init__(allow_null=True, help_text="The address of the next page; null on the last.")


class Connection(Shape):
    # What works in a namespace without a person, of `accounts.access.connections`.
    namespace = CharField(source="row.namespace.name")
    kind = CharField(help_text="trusted-publisher, git-repository or webhook.")
    id = IntegerField(source="number", help_text="URL of the list of this kind.")
    name = CharField()
    answers = ListField(
        child=CharField(),
        source="names",
        help_text="Owner responsible for it: the one who created, confirmed or last changed it.",
    )
    left_behind = BooleanField(source="is_left_behind", help_text="One of the two does not own the namespace.")
    created_at = MomentField(source="row.created_at")
    confirmed_at = MomentField(source="row.confirmed_at", allow_null=True)
    suspended_at = MomentField(source="row.suspended_at", allow_null=True, help_text="Time when it was suspended.")
    suspended_reason = CharField(source="row.suspended_reason")


class LeftBehind(Shape):
    left_behind = Connection(many=True, help_text="Connections that still work: confirm or remove each.")


class ModuleNames(Shape):
    namespace = CharField(source="address.namespace")
    name = CharField(source="address.name")
    system = CharField(source="address.system")


class ProviderNames(Shape):
    namespace = CharField(source="address.namespace")
    type = CharField(source="address.type")


class DocsPage(Shape):
    kind = CharField()
    slug = CharField()
    name = CharField()
    subcategory = CharField()


class Reason(Shape):
    # Of `lib.errors.Reason`.
    code = CharField(help_text="For programs; never changes.")
    found = CharField()
    expected = CharField()
    hint = CharField()
    file = CharField(help_text="Empty unless it concerns a single file.")
    sentence = CharField(help_text="The complete sentence, for people.")


class Error(Shape):
    code = CharField(help_text="For programs; never changes.")
    message = CharField()
    hint = CharField(help_text="Hint on how to fix it, or empty.")
    reasons = Reason(many=True)


class Problem(Shape):
    error = Error()


class VersionChange(Shape):
    kind: Any = CharField()
    name = CharField()
    severity = ChoiceField([str(one) for one in Severity])
    rule: Any = CharField()
    before = CharField(help_text="Empty if there was none.")
    after = CharField(help_text="Empty if there is none.")
    unit = CharField(help_text="The submodule's folder; empty for the module itself.")
    sentence = CharField(help_text="The rule in words.")
    sentences: ClassVar[Mapping[str, str]]

    def sentence_of(self, change: Change) -> str:
        return self.sentences[change.rule]


class ModuleChange(VersionChange):
    sentences = MODULE_RULES
    kind = ChoiceField(["action", "call", "client", "input", "output", "provider", "resource", "submodule"])
    rule = ChoiceField(list(sentences), help_text="See docs/version-guard.md.")


class Step(Shape):
    name = ChoiceField(choices=["received", "checked", "approved", "signed", "published"])
    state = ChoiceField(choices=["waiting", "running", "done", "failed"])
    at = MomentField(allow_null=True)


class VersionLifecycle(Shape):
    # Of a release. A tombstone has the reason of its removal.
    state = ChoiceField(choices=[*Lifecycle.values, "purged"])
    reason = CharField(source="lifecycle_reason")
    replacement = CharField(source="lifecycle_replacement")
    at = MomentField(source="lifecycle_at", allow_null=True)
    by = PersonField(source="lifecycle_by.username")

    def state_of(self, release: ReleaseRow) -> str:
        return "purged" if release.state == State.PURGED else release.lifecycle


class Approval(Shape):
    digest = DigestField(help_text="Digest of the approved release.")
    asked_at = MomentField()
    until = MomentField(help_text="When the release is rejected unless someone decides.")
    decision = ChoiceField(choices=Decision.values)
    decided_at = MomentField(allow_null=True)


class Release(Shape):
    # Of what `of_release` returns.
    id = UUIDField(source="public_id")
    kind = ChoiceField(choices=Kind.values)
    namespace = CharField(source="namespace.name")
    name = CharField(help_text="name/system of a module, such as vpc/aws, or the type of a provider.")
    version = CharField()
    state = ChoiceField(choices=State.values)
    steps = Step(many=True)
    reasons = Reason(many=True, help_text="Why it was rejected.")
    questions = Reason(many=True, help_text="What the held release needs.")
    held_until = MomentField(allow_null=True)
    approval = Approval(allow_null=True, help_text="null if it requires none.")
    folder = CharField(
        help_text="The folder of the upload that is the module, or several, one per line; empty for its root."
    )
    breaking_reason = CharField(help_text="Reason for breaking changes without a major version, or empty.")
    notes = DictField(
        child=JSONField(),
        help_text="Changes to the upload; `guard`: its breaking changes, and the earlier version it was compared with.",
    )
    digest = DigestField(allow_null=True, help_text="sha256:…, once published.")
    size = IntegerField(allow_null=True)
    uploaded_digest = DigestField(allow_null=True)
    uploaded_size = IntegerField(allow_null=True)
    attempt = IntegerField()
    attempts = IntegerField()
    created_at = MomentField(allow_null=True)
    checking_at = MomentField(allow_null=True)
    published_at = MomentField(allow_null=True)
    visible_at = MomentField(
        allow_null=True, help_text="When the cool-down ends and clients see it. null if there is none."
    )
    lifecycle = VersionLifecycle(source="row")
    quarantined = BooleanField()

    def digest_of(self, release: ReleaseRow) -> str | None:
        return release.digest if release.state == State.PUBLISHED else None

    def uploaded_digest_of(self, release: ReleaseRow) -> str | None:
        return release.uploaded_digest or None


class Hit(Shape):
    # Of a hit of `releases.lifecycle.impact`.
    kind = ChoiceField(choices=[str(one) for one in Hitting])
    name = CharField(
        help_text="Depends on the kind: the repository of a configuration, an address, a version or a user name."
    )
    effect = ChoiceField(choices=[str(one) for one in Effect])
    where = CharField(
        help_text="The folder of a configuration, or the version of the module that calls it; otherwise empty."
    )
    asks = CharField(help_text="The version range, or empty if Larder does not know it.")
    gets = CharField(help_text="The version that it moves to, or empty if there is none.")
    by = CharField(help_text="The account that reported a configuration, or the teams of an account.")
    note = CharField()
    count = IntegerField(help_text="Downloads in 30 days.")
    last_seen_at = MomentField(source="at", allow_null=True)


class Consequences(Shape):
    # Of an act that takes something from its users, before it is done.
    fails = IntegerField(help_text="Number of affected users for whom no other version matches.")
    may_fail = IntegerField(help_text="Number that fail if they pin the version exactly.")
    moves = IntegerField(help_text="Number that move to another version.")
    keeps = IntegerField(help_text="Number that keep working.")
    downloads = IntegerField(help_text="Downloads in 30 days; 0 for readers.")
    people = IntegerField(help_text="Accounts that `notify` would mail.")
    complete = BooleanField(source="is_complete", help_text="false: only the first modules and providers were counted.")
    hits = Hit(many=True, help_text="The first 50 of each kind and effect. Only owners see which configurations.")

    def people_of(self, found: Weighed) -> int:
        return len(found.people)

    def hits_of(self, found: Weighed) -> list[Any]:
        return [hit for group in found.groups for hit in group.hits]


def of_release(release: ReleaseRow, **facts: Any) -> With:
    """A release with its steps, reasons and attempts."""
    return With(release, **progress_of(release), quarantined=release.quarantined_at is not None, **facts)
