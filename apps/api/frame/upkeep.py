"""The shapes of answers about the upkeep of modules and providers: cleanup rules and health."""

from typing import Any

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    ListField,
    Serializer,
)

from apps.api.frame.shapes import Page
from apps.modules.health import RULES
from apps.releases.cleanup.rows import CleanupAction
from apps.releases.models import Kind


class CleanupRule(Serializer[Any]):
    enabled = BooleanField(help_text="It acts by itself, once an hour.")
    action = ChoiceField(choices=CleanupAction.values)
    prerelease_days = IntegerField(allow_null=True, help_text="Chooses pre-releases older than this; null for none.")
    stable_days = IntegerField(allow_null=True, help_text="Chooses other versions older than this; null for none.")
    keep_newest = IntegerField(help_text="So many of each module and provider always stay.")
    fetched_days = IntegerField(help_text="A version fetched in so many days stays.")
    changed_at = DateTimeField(allow_null=True, help_text="null: nobody has set a rule.")
    changed_by = CharField(allow_null=True)
    acts_from = DateTimeField(allow_null=True, help_text="When it may act by itself; null while it is off.")
    applied_at = DateTimeField(allow_null=True)
    applied_count = IntegerField(help_text="The versions that its last run changed.")


class CleanupVerdict(Serializer[Any]):
    kind = ChoiceField(choices=Kind.values)
    name = CharField(help_text="vpc/aws of a module, the type of a provider.")
    version = CharField()
    published_at = DateTimeField()
    goes = BooleanField()
    why = CharField()


class CleanupPlan(Page):
    plan = CharField(help_text="The digest of what would go: send it to apply this.")
    action = ChoiceField(choices=CleanupAction.values)
    going = IntegerField()
    staying = IntegerField()
    versions = CleanupVerdict(many=True)


class CleanupOutcome(Serializer[Any]):
    done = ListField(child=CharField(), help_text="Addresses with versions.")
    left = IntegerField(help_text="More that would go: read the plan again, and apply it.")


class HealthPoint(Serializer[Any]):
    code = ChoiceField(choices=list(RULES), help_text="docs/module-health.md says what each means.")
    gained = BooleanField()
    rule = CharField()
    found = CharField(help_text="What is missing; empty if it is gained.")
    hint = CharField(help_text="How to gain it.")


class ModuleHealth(Serializer[Any]):
    namespace = CharField()
    name = CharField()
    system = CharField()
    version = CharField()
    score = IntegerField(allow_null=True, help_text="null: nobody has read its configuration yet.")
    total = IntegerField()
    points = HealthPoint(many=True)
