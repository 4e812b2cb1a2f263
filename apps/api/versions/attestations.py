"""…/<version>/attestations of a module or provider: what others say about it, attached with one `curl`."""

from http import HTTPStatus

from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame.base import MODULE, PROVIDER, ApiView, ListView, listed, operation
from apps.api.frame.bodies import refuse_form
from apps.api.frame.shapes import DigestField, MomentField, PersonField, Shape, page
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.digests import counted
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.modules.catalogue import reading as modules
from apps.provenance import attestation_format, attesting, referrers
from apps.provenance.models import Attestation as Row
from apps.provenance.models import Form
from apps.providers import reading as providers
from apps.releases.models import Release


class Attestation(Shape):
    digest = DigestField(help_text="sha256:… of its bytes.")
    size = IntegerField()
    form = ChoiceField(choices=Form.values)
    media_type = CharField()
    predicate_type = CharField(help_text="Predicate type of the statement, or empty for a signature.")
    subjects = ListField(child=DigestField(), help_text="Digests of this version that the attestation names.")
    signer = CharField(
        source="signed_by",
        help_text="Signer named in the attestation: an identity or a key. Larder does not verify it.",
    )
    manifest = CharField(source="manifest_digest", help_text="The digest of its manifest in the OCI repository.")
    pushed = BooleanField(
        source="is_pushed", help_text="Whether it was pushed over OCI, for example with `oras attach`."
    )
    added_at = MomentField()
    added_by = PersonField(source="added_by.username")


AttestationPage = page("AttestationPage", attestations=Attestation(many=True))


class _OfVersion(ApiView):
    """A version that the caller sees; nothing is said about one in quarantine."""

    address_type: type[ModuleAddress | ProviderAddress] = ModuleAddress

    def authorise(self, need: Role, **names: str) -> None:
        address = self.address_type(**names)
        gate.namespace_for(
            self.viewer, address.namespace, need=need, only_name=address.path_name, spelled=address.spelled
        )

    def release(self, version: str, **names: str) -> Release:
        address = self.address_type(**names)
        if isinstance(address, ModuleAddress):
            found: Release = modules.version_for(self.viewer, address, version).release
            return found
        return providers.version_for(self.viewer, address, version).release


@streamed("POST")
class Attestations(_OfVersion, ListView):
    get = listed("List the attestations of a version", AttestationPage, public=True)

    def rows(self, version: str, **names: str) -> QuerySet[Row]:
        """Oldest first. Larder has checked whose bytes each names, and not who signed it."""
        return attesting.listed(self.release(version, **names))

    @operation(
        "Attach an attestation to a version",
        takes="application/octet-stream",
        answers={200: Attestation, 201: Attestation},
        again="200 for the same bytes.",
        scope="publish",
        idempotent=True,
        limits=["publish"],
    )
    def post(self, request: Request, version: str, **names: str) -> Response:
        """A DSSE envelope around an in-toto statement or a Sigstore bundle v0.3 as raw body, up to 1 MiB.

        It must name a digest of what this version gives out.
        """
        self.count("publish")
        self.authorise(Role.PUBLISHER, **names)  # before the body is read
        release = self.release(version, **names)
        refuse_form(request, expected="the attestation itself", hint="With curl use `--upload-file`, not --form.")
        media_type = request.META.get("CONTENT_TYPE", "")
        attestation_format.check_media_type(media_type)
        attesting.check_size(release, declared_length(request.META) or 0)
        body = counted(chunks(request.META), limit=attesting.MAX_BYTES, what="The attestation")
        content = b"".join(body)
        is_new = not attesting.has(release, content)
        kept = attesting.attach(release=release, viewer=self.viewer, content=content, media_type=media_type)
        location = f"{request.path}/sha256:{kept.digest}"
        status = HTTPStatus.CREATED if is_new else HTTPStatus.OK
        return self.answer(kept, status, headers={"Location": location})


class AttestationBytes(_OfVersion):
    @operation(
        "Fetch an attestation", answers={200: None}, files=tuple(attestation_format.MEDIA_TYPES.values()), public=True
    )
    def get(self, request: Request, attestation: str, version: str, **names: str) -> HttpResponse:  # noqa: ARG002
        """The bytes as they were attached; `attestation` is their sha256."""
        found = attesting.of_digest(self.release(version, **names), attestation)
        headers = {
            "Content-Disposition": f'attachment; filename="{referrers.file_name(found)}"',
            "X-Content-Type-Options": "nosniff",
            "ETag": f'"sha256:{found.digest}"',
        }
        return HttpResponse(bytes(found.content), content_type=found.media_type, headers=headers)

    @operation(
        "Remove an attestation",
        answers={204: None},
        query={"reason": "The reason, in one or two sentences. Recorded in the audit log."},
        again="404.",
    )
    def delete(self, request: Request, attestation: str, version: str, **names: str) -> Response:
        """For owners. One that was pushed over OCI goes with its manifest."""
        self.authorise(Role.OWNER, **names)
        found = attesting.of_digest(self.release(version, **names), attestation)
        attesting.remove(attestation=found, viewer=self.viewer, reason=request.query_params.get("reason", ""))
        return self.answer(status=HTTPStatus.NO_CONTENT)


def _routes(kind: str, place: str, address_type: type[ModuleAddress | ProviderAddress]) -> list[URLPattern]:
    here, of_kind = f"{place}/<segment:version>/attestations", {"address_type": address_type}
    return [
        path(here, Attestations.as_view(**of_kind), name=f"{kind}-attestations"),
        path(f"{here}/<segment:attestation>", AttestationBytes.as_view(**of_kind), name=f"{kind}-attestation"),
    ]


urlpatterns = [*_routes("module", MODULE, ModuleAddress), *_routes("provider", PROVIDER, ProviderAddress)]
