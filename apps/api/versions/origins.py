"""…/<version>/origin: where a module or provider version comes from, and how to verify it."""

from typing import Any

from django.urls import path
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, IntegerField, JSONField

from apps.accounts.models import Role
from apps.api.frame.base import MODULE, PROVIDER, DetailView, shown
from apps.api.frame.shapes import ModuleNames, MomentField, PersonField, ProviderNames, Shape, With
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.modules.catalogue import reading as modules
from apps.provenance import commands, differences, origin
from apps.provenance.models import Attestation, Form
from apps.provenance.origin import LABELS
from apps.provenance.strengths import Strength
from apps.providers import reading as providers
from apps.releases.models import Release
from apps.releases.origin.models import Way
from apps.signing.models import State as KeyState


class OriginFact(Shape):
    name = ChoiceField(list(LABELS))
    value = CharField()
    url = CharField(help_text="Page of the vendor that shows it, or empty if unknown.")


class OriginPublisher(Shape):
    # Of Facts.
    by = PersonField(source="release.created_by.shown_name", help_text="null without a token.")
    way = ChoiceField(choices=Way.values, source="origin.way", allow_null=True, help_text="null: not recorded.")
    vendor = CharField(help_text="The CI of a trusted publisher, such as GitHub Actions, or empty.")
    service_account = BooleanField(source="is_by_machine")
    token = CharField(allow_null=True, help_text="The label of its API token, for publishers.")
    at = MomentField(source="release.published_at")

    def way_of(self, found: Any) -> str | None:
        return found.origin.way if found.origin else None

    def token_of(self, found: Any) -> str | None:
        return found.origin.token_label if found.origin and found.is_publisher else None


class OriginParticipant(Shape):
    way = CharField()
    person = PersonField(source="person.shown_name")
    facts = OriginFact(many=True)


class OriginApproval(Shape):
    by = PersonField(source="decided_by.shown_name", help_text="null without a token.")
    bot = BooleanField(help_text="With an API token.")
    second_factor = BooleanField(source="has_second_factor")
    at = MomentField(source="decided_at")

    def bot_of(self, approval: Any) -> bool:
        return approval.token_id is not None


class OriginSubject(Shape):
    name = CharField()
    digest = CharField(help_text="sha256:…")

    def digest_of(self, subject: Any) -> str:
        return f"sha256:{subject.sha256}" if subject.sha256 else f"sha512:{subject.sha512}"


class OriginKey(Shape):
    fingerprint = CharField()
    key_id = CharField()
    state = ChoiceField(choices=KeyState.values)
    since = MomentField(source="added_at", help_text="When the namespace registered it, or Larder generated it.")


class OriginStatement(Shape):
    digest = CharField(help_text="sha256:… of the envelope that …/statement returns.")
    key_id = CharField(source="key.key_id")
    key_since = MomentField(source="key.made_at")
    at = MomentField(source="made_at")

    def digest_of(self, statement: Any) -> str:
        return f"sha256:{statement.digest}"


class OriginAttestation(Shape):
    digest = CharField(help_text="sha256:… of its bytes.")
    form = ChoiceField(choices=Form.values)
    predicate_type = CharField()
    signed_by = CharField(help_text="Signer named in the attestation. Larder has not verified the signature.")
    by = PersonField(source="added_by.shown_name", help_text="Account that added it; null without a token.")
    at = MomentField(source="added_at")
    command = CharField(help_text="A command that downloads the attestation, and verifies it if a tool can.")

    def digest_of(self, attestation: Any) -> str:
        return f"sha256:{attestation.digest}"


class OriginDifference(Shape):
    code = ChoiceField(list(differences.CODES))
    sentence = CharField()


class OriginCommand(Shape):
    code = ChoiceField(list(commands.CODES))
    words = CharField()
    text = CharField(help_text="For a POSIX shell.")
    program = CharField(help_text="Tools that it needs in addition to curl and standard system tools.")


class OriginUpload(Shape):
    # Of a release.
    digest = CharField(
        source="uploaded_digest",
        allow_null=True,
        help_text="sha256:… of the upload. For a provider, of all files together.",
    )
    size = IntegerField(source="uploaded_size", allow_null=True, help_text="Bytes.")

    def digest_of(self, release: Release) -> str | None:
        return f"sha256:{release.uploaded_digest}" if release.uploaded_digest else None


class VersionOrigin(Shape):
    version = CharField(source="release.version")
    strength = ChoiceField(
        choices=Strength.values,
        help_text="Where the origin comes from. Only verified-claims is verified; see docs/verifying.md.",
    )
    verified = BooleanField(source="is_verified")
    published = OriginPublisher(source="*")
    facts = OriginFact(source="seen", many=True, help_text="Origin from the claims of the CI run.")
    claims = DictField(
        child=JSONField(),
        allow_null=True,
        help_text="All claims of the id token. null unless the caller is a publisher.",
    )
    others = OriginParticipant(many=True, help_text="Others who uploaded parts of it or opened its draft.")
    approval = OriginApproval(allow_null=True, help_text="Must be someone who took no part in the release.")
    uploaded = OriginUpload(source="release")
    served = OriginSubject(source="subjects", many=True, help_text="The versions that clients receive.")
    key = OriginKey(allow_null=True, help_text="The OpenPGP key of a provider version.")
    statement = OriginStatement(allow_null=True, help_text="null: a worker has not signed it yet.")
    attestations = OriginAttestation(source="attested", many=True)
    previous = CharField(
        source="before.release.version", allow_null=True, help_text="The next lower published version."
    )
    differences = OriginDifference(many=True, help_text="Differences from the origin of the previous version.")
    commands = OriginCommand(many=True)

    def claims_of(self, found: Any) -> dict[str, Any] | None:
        return found.origin.claims if found.origin and found.origin.claims and found.is_publisher else None

    def previous_of(self, found: Any) -> str | None:
        return found.before.release.version if found.before else None


class ModuleOrigin(VersionOrigin, ModuleNames):
    pass


class ProviderOrigin(VersionOrigin, ProviderNames):
    pass


class OriginView(DetailView):
    def found(self, release: Release, address: Any, role: Role) -> With:
        """Names of people for those who are known, claims and labels of tokens for those who may publish."""
        found, is_known = origin.of(release), self.viewer.is_identified
        return With(
            found,
            address=address,
            is_publisher=is_known and role.covers(Role.PUBLISHER),
            seen=found.shown_facts(with_people=is_known),
            others=found.shown_others(with_people=is_known),
            differences=differences.of(found, with_people=is_known),
            commands=commands.of(found),
            attested=[_attested(found, one) for one in found.attestations],
        )


def _attested(found: origin.Facts, attestation: Attestation) -> With:
    return With(attestation, command=commands.of_attestation(found, attestation).text)


class ModuleOriginView(OriginView):
    """Yanked versions included; those in quarantine for staff alone."""

    get = shown("Show where a module version comes from", ModuleOrigin, public=True)

    def row(self, version: str, **names: str) -> With:
        module, role = modules.module_and_role(self.viewer, ModuleAddress(**names))
        row = modules.version_of(self.viewer, module, version, even_quarantined=True)
        return self.found(row.release, module.address, role)


class ProviderOriginView(OriginView):
    """Yanked versions included; those in quarantine for staff alone."""

    get = shown("Show where a provider version comes from", ProviderOrigin, public=True)

    def row(self, version: str, **names: str) -> With:
        provider, role = providers.provider_and_role(self.viewer, ProviderAddress(**names))
        row = providers.version_of(self.viewer, provider, version, even_quarantined=True)
        return self.found(row.release, provider.address, role)


urlpatterns = [
    path(f"{MODULE}/<segment:version>/origin", ModuleOriginView.as_view(), name="module-origin"),
    path(f"{PROVIDER}/<segment:version>/origin", ProviderOriginView.as_view(), name="provider-origin"),
]
