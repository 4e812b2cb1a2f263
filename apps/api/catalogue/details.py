"""One published version of a module or provider in full, what differs between two, and a module's health."""

from typing import Any

from django.urls import path
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    IntegerField,
    ListField,
    UUIDField,
)

from apps.api.frame.base import MODULE, PROVIDER, DetailView, shown
from apps.api.frame.shapes import (
    DigestField,
    ModuleChange,
    ModuleNames,
    MomentField,
    PersonField,
    ProviderNames,
    Shape,
    VersionChange,
    VersionLifecycle,
    With,
)
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules.catalogue import reading as modules
from apps.modules.catalogue.documents import contents_of, default_text, hides_default, is_empty, namespace_of
from apps.modules.comparing import versions as module_versions
from apps.modules.health import RULES, health_of
from apps.modules.models import ModuleVersion
from apps.providers import comparing as provider_versions
from apps.providers import reading as providers
from apps.providers.comparing import SENTENCES as PROVIDER_RULES
from apps.providers.models import Signing
from apps.releases.catalogue import download_figures
from apps.releases.catalogue.comparing import Comparison, Severity
from apps.releases.models import Release
from apps.signing.models import State as KeyState

_OLDER = "null: inspected by an older Larder, which did not record it."


class ModuleInput(Shape):
    # Of rows of the inspection, as all shapes up to ModuleUnit.
    name = CharField()
    type = CharField()
    description = CharField()
    default = CharField(
        allow_null=True, help_text="JSON, or the expression as written; empty without a default, null if it is hidden."
    )
    default_hidden = BooleanField(help_text="The default is hidden because the input is sensitive.")
    required = BooleanField()  # type: ignore[assignment]  # a field's name
    sensitive = BooleanField()
    ephemeral = BooleanField()
    nullable = BooleanField()
    const = BooleanField(allow_null=True, help_text=f"Whether the value must be known before a plan. {_OLDER}")
    deprecated = CharField(help_text="What to use instead. Empty if it is not deprecated.")
    validation = ListField(source="validations", child=CharField(), help_text="The message of each rule.")

    def default_of(self, variable: Any) -> str | None:
        return None if hides_default(variable) else default_text(variable)

    def default_hidden_of(self, variable: Any) -> bool:
        return hides_default(variable)


class ModuleOutput(Shape):
    name = CharField()
    type = CharField(allow_null=True, help_text=f"Empty if it is not stated. {_OLDER}")
    description = CharField()
    sensitive = BooleanField()
    ephemeral = BooleanField()
    deprecated = CharField(help_text="What to use instead. Empty if it is not deprecated.")


class ModuleResource(Shape):
    name = CharField()
    type = CharField()
    provider = CharField(help_text="The local name.")


class ManagedResource(ModuleResource):
    repetition = ChoiceField(["", "count", "for_each"], allow_null=True, help_text=_OLDER)


class DataSource(ModuleResource):
    mode = ChoiceField(["data", "ephemeral"])


class ModuleDependency(Shape):
    name = CharField()
    source = CharField()  # type: ignore[assignment]  # a field's name
    version = CharField(help_text="The constraint, or empty.")
    computed = ListField(
        child=ChoiceField(["source", "version"]), allow_null=True, help_text=f"Arguments that are expressions. {_OLDER}"
    )


class ProviderDependency(Shape):
    name = CharField()
    namespace = CharField()
    source = CharField()  # type: ignore[assignment]  # a field's name
    version = CharField(help_text="The constraint, or empty.")

    def namespace_of(self, provider: Any) -> str:
        return namespace_of(provider)


class ClientRequirement(Shape):
    client = CharField(help_text="opentofu, or the client that the block names.")
    version = CharField(source="text", help_text="The constraint.")


class MovedAddress(Shape):
    from_ = CharField()
    to = CharField()


class RemovedAddress(Shape):
    from_ = CharField()
    destroy = BooleanField(
        allow_null=True, help_text="null: not specified. Terraform then destroys the object; OpenTofu forgets it."
    )


class ImportedAddress(Shape):
    to = CharField()


class StateMigration(Shape):
    kind = ChoiceField(["backend", "state_store"])
    type = CharField()


class PlanError(Shape):
    """Problems in folders that clients can load but never plan."""

    file = CharField()
    line = IntegerField()
    message = CharField(help_text="The finding.")
    hint = CharField(help_text="Hint on how to fix it.")


class ModuleUnit(Shape):
    """A folder with configuration files."""

    path = CharField(help_text="Empty for the root.")
    name = CharField()
    readme = CharField(help_text="Markdown.")
    empty = BooleanField()
    required_version = CharField(help_text="Constraint for the version of OpenTofu and Terraform. Empty for any.")
    compatible_with = ClientRequirement(many=True, help_text="Version constraints of individual clients.")
    inputs = ModuleInput(source="variables", many=True)
    outputs = ModuleOutput(many=True)
    dependencies = ModuleDependency(source="calls", many=True)
    provider_dependencies = ProviderDependency(source="providers", many=True)
    resources = ManagedResource(many=True)
    data_sources = DataSource(many=True)
    actions = ModuleResource(many=True)
    moved = MovedAddress(many=True)
    removed = RemovedAddress(many=True)
    imports = ImportedAddress(many=True)
    queries = ModuleResource(many=True, help_text="The list blocks of .tfquery files.")
    migrations = StateMigration(many=True, help_text="Source of the state in .tfmigrate files.")
    plan_errors = PlanError(
        many=True, help_text="At most 20 problems in folders that clients can load but cannot plan."
    )

    def empty_of(self, unit: Any) -> bool:
        return is_empty(unit)

    def required_version_of(self, unit: Any) -> str:
        return ", ".join(one["text"] for one in unit["required_version"])

    def resources_of(self, unit: Any) -> list[Any]:
        return [one for one in unit["resources"] if one["mode"] == "managed"]

    def data_sources_of(self, unit: Any) -> list[Any]:
        return [one for one in unit["resources"] if one["mode"] != "managed"]


class VersionDetails(Shape):
    id = UUIDField(source="release.public_id", help_text="Id of the release.")
    namespace = CharField(source="release.namespace.name")
    version = CharField(source="release.version")
    digest = DigestField(source="release.digest", help_text="sha256:… of the served file.")
    size = IntegerField(source="release.size", help_text="Bytes.")
    published_at = MomentField(source="release.published_at")
    published_by = PersonField(source="release.created_by.shown_name", help_text="null without a token.")
    lifecycle = VersionLifecycle(source="release")
    quarantined = BooleanField()
    downloads = IntegerField(help_text="Downloads of this version.")

    def quarantined_of(self, version: Any) -> bool:
        return version.release.quarantined_at is not None


class ModuleVersionDetails(VersionDetails):
    name = CharField(source="module.name")
    system = CharField(source="module.system")
    description = CharField()
    source = CharField(  # type: ignore[assignment]  # a field's name
        source="module.source_url", help_text="The address of its repository, or empty."
    )
    files = IntegerField(source="file_count", help_text="Number of files in the archive.")
    root = ModuleUnit(source="contents.root")
    submodules = ModuleUnit(source="contents.submodules", many=True)
    examples = ModuleUnit(source="contents.examples", many=True)

    def description_of(self, version: ModuleVersion) -> str:
        return version.module.description or version.summary


class VersionKey(Shape):
    fingerprint = CharField()
    key_id = CharField()
    state = ChoiceField(choices=KeyState.values)


class ProviderPackage(Shape):
    os = CharField()
    arch = CharField()
    filename = CharField()
    digest = DigestField()
    size = IntegerField(help_text="Bytes.")
    h1 = CharField(help_text="The hash of the unpacked tree, as in lock files.")


class ProviderVersionDetails(VersionDetails):
    type = CharField(source="provider.type")
    description = CharField(source="provider.description")
    source = CharField(  # type: ignore[assignment]  # a field's name
        source="provider.source_url", help_text="The address of its repository, or empty."
    )
    notice = CharField(source="provider.notice")
    protocols = ListField(child=CharField())
    signing = ChoiceField(choices=Signing.values)
    key = VersionKey()
    sums_digest = DigestField(help_text="sha256:… of SHA256SUMS.")
    packages = ProviderPackage(many=True)


class ProviderChange(VersionChange):
    sentences = PROVIDER_RULES
    kind = ChoiceField(["docs", "key", "platform", "protocol"])
    rule = ChoiceField(list(sentences), help_text="See docs/version-guard.md.")


class VersionComparison(Shape):
    from_ = CharField(source="before.version", help_text="The earlier version.")
    to = CharField(source="after.version", help_text="The later version.")
    severity = ChoiceField([str(one) for one in Severity], help_text="The severity of the most severe change.")
    step = ChoiceField(["major", "minor", "patch", "pre-release"], allow_null=True, help_text="null for an older one.")
    is_said = BooleanField(help_text="false if it contains breaking changes without a major version.")
    changes = VersionChange(many=True)
    markdown = CharField(help_text="The changes as a changelog entry, in Markdown.")

    def step_of(self, comparison: Comparison) -> str | None:
        return comparison.step or None


class ChangedFiles(Shape):
    added = ListField(child=CharField())
    removed = ListField(child=CharField())
    changed = ListField(
        child=CharField(),
        help_text="Compared by size and checksum; only by size if an older Larder inspected the version.",
    )


class ModuleComparison(VersionComparison, ModuleNames):
    changes = ModuleChange(many=True)
    files = ChangedFiles()


class ProviderComparison(VersionComparison, ProviderNames):
    changes = ProviderChange(many=True)


class HealthPoint(Shape):
    code = ChoiceField(choices=list(RULES), help_text="See docs/module-health.md.")
    gained = BooleanField()
    rule = CharField(source="sentence")
    found = CharField(help_text="What is missing, or empty if the check passed.")
    hint = CharField(help_text="Hint on how to pass.")


class ModuleHealth(ModuleNames):
    version = CharField(source="release.version")
    score = IntegerField(allow_null=True, help_text="null: its configuration has not been inspected yet.")
    total = IntegerField()
    points = HealthPoint(many=True)


class ModuleVersionView(DetailView):
    """Yanked versions included; those in quarantine for staff alone."""

    get = shown("Show a module version in full", ModuleVersionDetails, public=True)

    def row(self, version: str, **names: str) -> With:
        address = ModuleAddress(**names)
        row = modules.version_for(self.viewer, address, version, even_quarantined=True, with_markdown=True)
        return With(row, downloads=_downloads(row.release), contents=contents_of(row))


class ProviderVersionView(DetailView):
    """Yanked versions included; those in quarantine for staff alone."""

    get = shown("Show a provider version in full", ProviderVersionDetails, public=True)

    def row(self, version: str, **names: str) -> With:
        row = providers.version_for(self.viewer, ProviderAddress(**names), version, even_quarantined=True)
        return With(row, downloads=_downloads(row.release))


def _downloads(release: Release) -> int:
    return download_figures.ever(download_figures.counts_of_release(release))


class ModuleCompare(DetailView):
    """Yanked versions included."""

    get = shown("Compare two versions of a module", ModuleComparison, public=True)

    def row(self, numbers: str, **names: str) -> Comparison:
        return module_versions.compare(self.viewer, ModuleAddress(**names), numbers)


class ProviderCompare(DetailView):
    """Yanked versions included."""

    get = shown("Compare two versions of a provider", ProviderComparison, public=True)

    def row(self, numbers: str, **names: str) -> Comparison:
        return provider_versions.compare(self.viewer, ProviderAddress(**names), numbers)


class ModuleHealthView(DetailView):
    """Of the default version. Advice: no score blocks anything."""

    get = shown("Show the health of a module", ModuleHealth, public=True)

    def row(self, **names: str) -> With:
        version = modules.default_version_for(self.viewer, ModuleAddress(**names))
        health = health_of(version)
        facts = {"score": health.score if health else None, "points": health.points if health else []}
        return With(version, address=version.module.address, total=len(RULES), **facts)


urlpatterns = [
    path(f"{MODULE}/health", ModuleHealthView.as_view(), name="module-health"),  # before those with <version> there
    path(f"{MODULE}/<segment:version>/details", ModuleVersionView.as_view(), name="module-details"),
    path(f"{PROVIDER}/<segment:version>/details", ProviderVersionView.as_view(), name="provider-details"),
    path(f"{MODULE}/compare/<segment:numbers>", ModuleCompare.as_view(), name="module-compare"),
    path(f"{PROVIDER}/compare/<segment:numbers>", ProviderCompare.as_view(), name="provider-compare"),
]
