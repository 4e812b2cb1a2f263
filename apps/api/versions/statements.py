"""…/<version>/statement, Larder's signed statement about a release, and /api/v1/statement-keys, which verify it."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import path
from django.utils.cache import get_conditional_response
from rest_framework.request import Request
from rest_framework.serializers import CharField, ChoiceField

from apps.api.frame.base import MODULE, PROVIDER, ApiView, ListView, listed, operation
from apps.api.frame.shapes import MomentField, Shape, page
from apps.lib.addresses import ModuleAddress, ProviderAddress
from apps.lib.errors import NotFound
from apps.lib.formats import dsse
from apps.modules.catalogue import reading as modules
from apps.provenance import statements
from apps.providers import reading as providers
from apps.releases.cooldown import require_visible
from apps.releases.models import Release
from apps.signing import statement_keys
from apps.signing.models import State, StatementKey

PEM = "application/x-pem-file"


class EnvelopeSignature(Shape):
    keyid = CharField(help_text="The `id` of one of the statement keys.")
    sig = CharField(help_text="Base64. Ed25519, over the pre-authentication encoding of type and payload.")


class StatementEnvelope(Shape):
    payload = CharField(help_text="Base64 of an in-toto statement with SLSA provenance v1.")
    payloadType = CharField(help_text=dsse.IN_TOTO)  # noqa: N815  # DSSE's name
    signatures = EnvelopeSignature(many=True)


class PublicStatementKey(Shape):
    id = CharField(source="key_id", help_text="SHA-256 of the public key in DER.")
    algorithm = ChoiceField([statement_keys.ALGORITHM])
    state = ChoiceField(
        [State.ACTIVE.value, State.RETIRED.value], help_text="Signatures of a retired key remain valid."
    )
    public_key = CharField(help_text="PEM.")
    made_at = MomentField()
    retired_at = MomentField(allow_null=True)

    def algorithm_of(self, key: StatementKey) -> str:  # noqa: ARG002
        return statement_keys.ALGORITHM


def _stated(summary: str) -> Callable[..., HttpResponseBase]:
    """GET of a view that finds the `release`: as clients see it, so not in quarantine, and not during a cool-down."""

    @operation(
        summary,
        answers={200: StatementEnvelope},
        files=(dsse.MEDIA_TYPE,),
        public=True,
        errors={
            403: "Whether the cool-down still hides it from clients.",
            404: "The version does not exist, or its statement is not signed yet.",
        },
    )
    def get(self: Any, request: Request, **names: str) -> HttpResponseBase:
        """The DSSE envelope, the same bytes each time. docs/statements.md says what it states."""
        release = self.release(**names)
        require_visible(release)
        found = statements.require(release)
        etag = f'"{found.digest}"'
        headers = {"Content-Type": dsse.MEDIA_TYPE, "ETag": etag, "X-Content-Type-Options": "nosniff"}
        whole = HttpResponse(bytes(found.envelope), headers=headers)
        return get_conditional_response(request, etag=etag, response=whole) or whole

    return get


class ModuleStatement(ApiView):
    get = _stated("Get the signed statement about a module version")

    def release(self, version: str, **names: str) -> Release:
        return modules.published_release(self.viewer, ModuleAddress(**names), version)


class ProviderStatement(ApiView):
    get = _stated("Get the signed statement about a provider version")

    def release(self, version: str, **names: str) -> Release:
        return providers.version_for(self.viewer, ProviderAddress(**names), version).release


class StatementKeyList(ListView):
    """Retired ones included."""

    get = listed(
        "List the keys that sign statements", page("StatementKeyPage", keys=PublicStatementKey(many=True)), public=True
    )

    def rows(self) -> QuerySet[StatementKey]:
        return statement_keys.listed()


class StatementKeyFile(ApiView):
    @operation("Download a key that signs statements", answers={200: None}, files=(PEM,), public=True)
    def get(self, request: Request, key_id: str) -> HttpResponse:  # noqa: ARG002
        """The public key alone, as `openssl` and `cosign` read it."""
        key = statement_keys.listed().filter(key_id=key_id).first()
        if key is None:
            raise NotFound(f"There is no statement key {key_id[:64]!r}.", hint="GET /api/v1/statement-keys lists them.")
        return HttpResponse(key.public_key, content_type=PEM)


urlpatterns = [
    path(f"{MODULE}/<segment:version>/statement", ModuleStatement.as_view(), name="module-statement"),
    path(f"{PROVIDER}/<segment:version>/statement", ProviderStatement.as_view(), name="provider-statement"),
    path("statement-keys", StatementKeyList.as_view(), name="statement-keys"),
    path("statement-keys/<segment:key_id>/pem", StatementKeyFile.as_view(), name="statement-key-pem"),
]
