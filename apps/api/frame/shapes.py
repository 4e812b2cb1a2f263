"""The shapes of the API's answers. They describe; the rooms' documents make them, and tests compare the two.

`contents` has those of a version's details.
"""

from typing import Any

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

from apps.accounts.models import BreakingChanges, Role, Scope, Visibility
from apps.jobs.models import State as JobState
from apps.providers.models import DocsState, Signing
from apps.releases.models import Kind, Lifecycle, State
from apps.signing.models import Custody
from apps.signing.models import State as KeyState

ROLES = [role.label.lower() for role in Role]


class Reason(Serializer[Any]):
    code = CharField(help_text="For programs; never changes.")
    found = CharField()
    expected = CharField()
    hint = CharField()
    file = CharField(help_text="Empty if it is about no single file.")
    sentence = CharField(help_text="All of it, for people.")


class Error(Serializer[Any]):
    code = CharField(help_text="For programs; never changes.")
    message = CharField()
    hint = CharField(help_text="How to mend it, or empty.")
    reasons = Reason(many=True)


class Problem(Serializer[Any]):
    error = Error()


class TokenFacts(Serializer[Any]):
    id = IntegerField()
    label = CharField()  # type: ignore[assignment]  # a field's name
    scope = ChoiceField(choices=Scope.values)
    namespaces = ListField(child=CharField(), allow_null=True, help_text="null: all that the person may use.")
    only_name = CharField(help_text="Publishes only this, such as vpc/aws; empty for everything.")
    expires_at = DateTimeField()


class Me(Serializer[Any]):
    user = CharField()
    name = CharField()
    staff = BooleanField()
    token = TokenFacts()


class NamespaceRow(Serializer[Any]):
    name = CharField()
    visibility = ChoiceField(choices=Visibility.values)
    description = CharField()
    role = ChoiceField(choices=ROLES, allow_null=True, help_text="The caller's; null without a grant.")


class Usage(Serializer[Any]):
    bytes = IntegerField()
    versions = IntegerField()


class Quota(Serializer[Any]):
    bytes = IntegerField(allow_null=True)
    versions = IntegerField(allow_null=True)


class Namespace(NamespaceRow):
    breaking_changes = ChoiceField(
        choices=BreakingChanges.values,
        help_text="What happens to a version that breaks something although its number does not say so.",
    )
    usage = Usage()
    quota = Quota(help_text="The limits in force; null for none.")


class Page(Serializer[Any]):
    next = CharField(allow_null=True, help_text="The address of the next page; null on the last.")


class NamespacePage(Page):
    namespaces = NamespaceRow(many=True)


class CatalogueRow(Serializer[Any]):
    namespace = CharField()
    version = CharField(help_text="The default version.")
    description = CharField()
    lifecycle = ChoiceField(choices=Lifecycle.values)
    published_at = DateTimeField()
    downloads = IntegerField()


class ModuleRow(CatalogueRow):
    name = CharField()
    system = CharField()


class ProviderRow(CatalogueRow):
    type = CharField()


class ModulePage(Page):
    modules = ModuleRow(many=True)


class ProviderPage(Page):
    providers = ProviderRow(many=True)


class VersionRow(Serializer[Any]):
    version = CharField()
    lifecycle = ChoiceField(choices=Lifecycle.values)
    reason = CharField(help_text="Why it is deprecated or yanked; empty otherwise.")
    published_at = DateTimeField()


class VersionPage(Page):
    versions = VersionRow(many=True)


class ReleaseRow(Serializer[Any]):
    id = UUIDField()
    kind = ChoiceField(choices=Kind.values)
    namespace = CharField()
    name = CharField()
    version = CharField()
    state = ChoiceField(choices=State.values)
    created_at = DateTimeField()


class ReleasePage(Page):
    releases = ReleaseRow(many=True)


class NamespaceReleaseRow(ReleaseRow):
    by = CharField(allow_null=True, help_text="Who started it; null for somebody who was erased.")
    finished_at = DateTimeField(allow_null=True)


class NamespaceReleasePage(Page):
    releases = NamespaceReleaseRow(many=True)


class Grant(Serializer[Any]):
    user = CharField(required=False, help_text="Or `team`.")
    team = CharField(required=False)
    role = ChoiceField(choices=ROLES)
    since = DateTimeField()


class Grants(Serializer[Any]):
    grants = Grant(many=True)


class GrantPage(Page):
    grants = Grant(many=True)


class Key(Serializer[Any]):
    id = IntegerField()
    fingerprint = CharField()
    key_id = CharField()
    state = ChoiceField(choices=KeyState.values)
    custody = ChoiceField(choices=Custody.values)
    algorithm = CharField()
    uid = CharField()
    source = CharField()  # type: ignore[assignment]  # a field's name
    source_url = CharField()
    made_at = DateTimeField(allow_null=True)
    added_at = DateTimeField(allow_null=True)
    expires_at = DateTimeField(allow_null=True)
    expired = BooleanField()
    ended_at = DateTimeField(allow_null=True)
    reason = CharField()
    ascii_armor = CharField(help_text="Empty until a worker has made it.")
    releases = IntegerField(help_text="How many versions it signed.")


class KeyPage(Page):
    keys = Key(many=True)


class Member(Serializer[Any]):
    user = CharField()
    manager = BooleanField()
    active = BooleanField()


class TeamRole(Serializer[Any]):
    name = CharField()
    role = ChoiceField(choices=ROLES)


class Team(Serializer[Any]):
    name = CharField()
    description = CharField()
    members = Member(many=True)
    namespaces = TeamRole(many=True, help_text="Those that the caller sees.")


class TeamListRow(Serializer[Any]):
    name = CharField()
    description = CharField()
    people = IntegerField(help_text="Active members, without service accounts.")
    member = BooleanField(help_text="The caller is in it.")
    manager = BooleanField(help_text="The caller manages it.")


class TeamPage(Page):
    teams = TeamListRow(many=True)


class Module(Serializer[Any]):
    namespace = CharField()
    name = CharField()
    system = CharField()
    description = CharField()
    source = CharField(help_text="The address of its repository, or empty.")  # type: ignore[assignment]  # a field's name


class Provider(Serializer[Any]):
    namespace = CharField()
    type = CharField()
    description = CharField()
    source = CharField(help_text="The address of its repository, or empty.")  # type: ignore[assignment]  # a field's name
    notice = CharField(help_text="Clients print it at `init`; empty for none.")


class Step(Serializer[Any]):
    name = ChoiceField(choices=["received", "checked", "signed", "published"])
    state = ChoiceField(choices=["waiting", "running", "done", "failed"])
    at = DateTimeField(allow_null=True)


class VersionLifecycle(Serializer[Any]):
    state = ChoiceField(choices=[*Lifecycle.values, "purged"])
    reason = CharField()
    replacement = CharField()
    at = DateTimeField(allow_null=True)
    by = CharField(allow_null=True)


class Release(Serializer[Any]):
    id = UUIDField()
    kind = ChoiceField(choices=Kind.values)
    namespace = CharField()
    name = CharField(help_text="vpc/aws of a module, the type of a provider.")
    version = CharField()
    state = ChoiceField(choices=State.values)
    steps = Step(many=True)
    reasons = Reason(many=True, help_text="Why it was rejected.")
    questions = Reason(many=True, help_text="What a held release waits for.")
    held_until = DateTimeField(allow_null=True)
    folder = CharField(help_text="The folder of the upload that is the module; empty for its root.")
    breaking_reason = CharField(help_text="Why it breaks something although its number does not say so, or empty.")
    notes = DictField(
        child=JSONField(), help_text="What was done to the upload; `guard`: what it breaks of which earlier version."
    )
    digest = CharField(allow_null=True, help_text="sha256:…, once published.")
    size = IntegerField(allow_null=True)
    uploaded_digest = CharField(allow_null=True)
    uploaded_size = IntegerField(allow_null=True)
    attempt = IntegerField()
    attempts = IntegerField()
    created_at = DateTimeField(allow_null=True)
    checking_at = DateTimeField(allow_null=True)
    published_at = DateTimeField(allow_null=True)
    lifecycle = VersionLifecycle()
    quarantined = BooleanField()


class File(Serializer[Any]):
    name = CharField()
    role = CharField()
    digest = CharField()
    size = IntegerField()


class Draft(Release):
    files = File(many=True)
    platforms = ListField(child=CharField())
    protocols = ListField(child=CharField())
    signing = ChoiceField(choices=Signing.values)
    signing_why = CharField()
    missing = Reason(many=True, help_text="What a draft needs before it can be published.")
    receiving_until = DateTimeField(allow_null=True)


class Upload(Serializer[Any]):
    id = UUIDField()
    file = CharField(help_text="Its name on the sender's machine, or in the draft; empty if nobody said.")
    length = IntegerField(help_text="Bytes of the whole.")
    offset = IntegerField(help_text="Bytes that have come: the next one goes here.")
    finished = BooleanField()
    expires_at = DateTimeField()
    release = CharField(help_text="The path of its release.")


class SignedRelease(Release):
    signing = ChoiceField(choices=Signing.values)
    key = CharField(help_text="The fingerprint of the key that clients get from now on.")
    changed = BooleanField()


class DocsPage(Serializer[Any]):
    kind = CharField()
    slug = CharField()
    name = CharField()
    subcategory = CharField()


class DocsArchive(Serializer[Any]):
    state = ChoiceField(choices=DocsState.values)
    digest = CharField()
    size = IntegerField()
    received_at = DateTimeField(allow_null=True)
    reasons = Reason(many=True)


class Docs(Serializer[Any]):
    pages = DocsPage(many=True)
    archives = DocsArchive(many=True, required=False, help_text="For publishers.")


class Job(Serializer[Any]):
    id = IntegerField()
    kind = CharField()
    target = CharField(allow_null=True, help_text="What it works on; null if that is gone.")
    state = ChoiceField(choices=JobState.values)
    attempts = IntegerField()
    worker = CharField(help_text="The last that claimed it, or empty.")
    error = CharField(help_text="The log of the last failure, or empty.")
    by = CharField(allow_null=True, help_text="Who asked for it; null for Larder.")
    request_id = CharField()
    created_at = DateTimeField()
    not_before = DateTimeField(allow_null=True, help_text="It waits until then, because something was away.")
    finished_at = DateTimeField(allow_null=True)


class JobPage(Page):
    jobs = Job(many=True)


class Actor(Serializer[Any]):
    id = IntegerField()
    name = CharField(allow_null=True, help_text="null for somebody who was erased.")


class Event(Serializer[Any]):
    id = IntegerField()
    at = DateTimeField()
    kind = CharField()
    actor = Actor(allow_null=True, help_text="null for Larder, and for whoever has not signed in.")
    token_id = IntegerField(allow_null=True)
    address = CharField()
    subject = CharField()
    detail = DictField(child=JSONField())
    request_id = CharField()


class EventPage(Page):
    events = Event(many=True)


class Leak(Serializer[Any]):
    sha256 = CharField(help_text="Of the text that was sent.")
    is_token = BooleanField(help_text="It was a token, and is revoked.")


class Leaks(Serializer[Any]):
    tokens = Leak(many=True, help_text="In the order of the report.")
