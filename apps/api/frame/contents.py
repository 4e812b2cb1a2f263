"""The shapes of a version's details: what is in a module or provider."""

from typing import Any

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateField,
    DateTimeField,
    DictField,
    IntegerField,
    JSONField,
    ListField,
    Serializer,
    UUIDField,
)

from apps.api.frame.shapes import Page, Reason, VersionLifecycle
from apps.modules import dry_run
from apps.modules.comparing.changes import SENTENCES as MODULE_RULES
from apps.providers.comparing import SENTENCES as PROVIDER_RULES
from apps.providers.models import Signing
from apps.releases.catalogue.comparing import Severity
from apps.releases.models import Lifecycle
from apps.signing.models import State as KeyState


class ModuleInput(Serializer[Any]):
    name = CharField()
    type = CharField()
    description = CharField()
    default = CharField(help_text="JSON, or the expression as written; empty without a default.")
    required = BooleanField()  # type: ignore[assignment]  # a field's name


class ModuleOutput(Serializer[Any]):
    name = CharField()
    description = CharField()


class ModuleResource(Serializer[Any]):
    name = CharField()
    type = CharField()


class ModuleDependency(Serializer[Any]):
    name = CharField()
    source = CharField()  # type: ignore[assignment]  # a field's name
    version = CharField(help_text="The constraint, or empty.")


class ProviderDependency(Serializer[Any]):
    name = CharField()
    namespace = CharField()
    source = CharField()  # type: ignore[assignment]  # a field's name
    version = CharField(help_text="The constraint, or empty.")


class ModuleUnit(Serializer[Any]):
    """A folder with configuration."""

    path = CharField(help_text="Empty for the root.")
    name = CharField()
    readme = CharField(help_text="Markdown.")
    empty = BooleanField()
    inputs = ModuleInput(many=True)
    outputs = ModuleOutput(many=True)
    dependencies = ModuleDependency(many=True)
    provider_dependencies = ProviderDependency(many=True)
    resources = ModuleResource(many=True)


class VersionDetails(Serializer[Any]):
    id = UUIDField(help_text="Of its release.")
    namespace = CharField()
    version = CharField()
    description = CharField()
    source = CharField(help_text="The address of its repository, or empty.")  # type: ignore[assignment]  # a field's name
    digest = CharField(help_text="sha256:… of what is served.")
    size = IntegerField(help_text="Bytes.")
    published_at = DateTimeField()
    published_by = CharField(allow_null=True, help_text="null without a token.")
    lifecycle = VersionLifecycle()
    quarantined = BooleanField()
    downloads = IntegerField(help_text="Of this version.")


class ModuleVersionDetails(VersionDetails):
    name = CharField()
    system = CharField()
    files = IntegerField(help_text="How many files its archive has.")
    root = ModuleUnit()
    submodules = ModuleUnit(many=True)
    examples = ModuleUnit(many=True)


class VersionKey(Serializer[Any]):
    fingerprint = CharField()
    key_id = CharField()
    state = ChoiceField(choices=KeyState.values)


class ProviderPackage(Serializer[Any]):
    os = CharField()
    arch = CharField()
    filename = CharField()
    digest = CharField()
    size = IntegerField(help_text="Bytes.")
    h1 = CharField(help_text="The hash of the unpacked tree, as in lock files.")


class ProviderVersionDetails(VersionDetails):
    type = CharField()
    notice = CharField()
    protocols = ListField(child=CharField())
    signing = ChoiceField(choices=Signing.values)
    key = VersionKey()
    sums_digest = CharField(help_text="sha256:… of SHA256SUMS.")
    packages = ProviderPackage(many=True)


class VersionChange(Serializer[Any]):
    name = CharField()
    severity = ChoiceField([str(one) for one in Severity])
    sentence = CharField(help_text="The rule in words.")
    before = CharField(help_text="Empty where there was nothing.")
    after = CharField(help_text="Empty where there is nothing.")
    unit = CharField(help_text="The submodule's folder; empty for the module itself.")


class ModuleChange(VersionChange):
    kind = ChoiceField(["call", "client", "input", "output", "provider", "resource", "submodule"])
    rule = ChoiceField(list(MODULE_RULES), help_text="docs/version-guard.md says what each means.")


class ProviderChange(VersionChange):
    kind = ChoiceField(["docs", "key", "platform", "protocol"])
    rule = ChoiceField(list(PROVIDER_RULES), help_text="docs/version-guard.md says what each means.")


class DryRun(Serializer[Any]):
    state = ChoiceField(list(dry_run.STATES))
    namespace = CharField()
    name = CharField()
    system = CharField()
    version = CharField()
    reasons = Reason(many=True, help_text="Why it would be asked about or rejected.")
    against = CharField(allow_null=True, help_text="The version that its users have; null if there is none.")
    severity = ChoiceField([str(one) for one in Severity], allow_null=True, help_text="The highest of the changes.")
    step = ChoiceField(["major", "minor", "patch", "pre-release"], allow_null=True)
    is_said = BooleanField(allow_null=True, help_text="False if something breaks and the number does not say so.")
    changes = ModuleChange(many=True)
    notes = DictField(child=JSONField(), help_text="What would be done to the upload.")


class ChangedFiles(Serializer[Any]):
    added = ListField(child=CharField())
    removed = ListField(child=CharField())
    changed = ListField(child=CharField(), help_text="By size and checksum; only by size of what an older Larder read.")


class VersionComparison(Serializer[Any]):
    namespace = CharField()
    to = CharField(help_text="The later version.")
    severity = ChoiceField([str(one) for one in Severity], help_text="The highest of the changes.")
    step = ChoiceField(["major", "minor", "patch", "pre-release"], allow_null=True, help_text="Null for an older one.")
    is_said = BooleanField(help_text="False if something breaks and the number does not say so.")
    markdown = CharField(help_text="The changes as a text for a changelog.")

    def get_fields(self) -> dict[str, Any]:
        """`from` is a word of Python."""
        return {**super().get_fields(), "from": CharField(help_text="The earlier version.")}


class Neighbour(Serializer[Any]):
    address = CharField()
    constraints = ListField(child=CharField(), help_text="Of the version; empty for any, `tag …` for an OCI source.")


class GraphNode(Serializer[Any]):
    kind = ChoiceField(["module", "provider"])
    address = CharField(help_text="namespace/name/system, or namespace/type.")
    version = CharField(allow_null=True, help_text="The default one of a module; null for a provider.")
    steps = IntegerField(help_text="1 is direct.")
    through = Neighbour(many=True, help_text="The neighbours that are one step nearer.")


class GraphPage(Page):
    is_complete = BooleanField(help_text="False if there are more than Larder lists.")


class DependentPage(GraphPage):
    dependents = GraphNode(many=True)


class DependencyPage(GraphPage):
    dependencies = GraphNode(many=True)


class OutdatedUse(Serializer[Any]):
    address = CharField()
    version = CharField(help_text="The default one of the module that uses it.")
    constraint = CharField(help_text="Empty for any, `tag …` for an OCI source.")
    gets = CharField(help_text="The version that is deprecated or yanked.")
    lifecycle = ChoiceField(choices=Lifecycle.values)
    fails = BooleanField(help_text="No listed version fits.")


class OutdatedPage(Page):
    modules = OutdatedUse(many=True)


class DownloadTotals(Serializer[Any]):
    ever = IntegerField()
    week = IntegerField(help_text="Of the last 7 days.")
    month = IntegerField(help_text="Of the last 30 days.")
    year = IntegerField(help_text="Of the last 365 days.")


class DownloadsOfDay(Serializer[Any]):
    day = DateField(help_text="UTC.")
    count = IntegerField()


class DownloadsOfVersion(Serializer[Any]):
    version = CharField()
    lifecycle = ChoiceField(choices=Lifecycle.values)
    count = IntegerField()


class DownloadsOfClient(Serializer[Any]):
    client = CharField(help_text="Such as OpenTofu 1.12.6, or other.")
    count = IntegerField()


class DownloadsOfTeam(Serializer[Any]):
    team = CharField()
    account = CharField(allow_null=True, help_text="A service account of the team; null for its people.")
    count = IntegerField()


class Downloads(Serializer[Any]):
    totals = DownloadTotals()
    days = DownloadsOfDay(many=True, help_text="The oldest first.")
    versions = DownloadsOfVersion(many=True, help_text="Of these days, most fetched first; empty for one version.")
    clients = DownloadsOfClient(many=True, help_text="Of these days.")
    teams = DownloadsOfTeam(
        many=True, allow_null=True, help_text="Of these days, that the caller sees; null unless they are an owner."
    )


class ModuleComparison(VersionComparison):
    name = CharField()
    system = CharField()
    changes = ModuleChange(many=True)
    files = ChangedFiles()


class ProviderComparison(VersionComparison):
    type = CharField()
    changes = ProviderChange(many=True)
