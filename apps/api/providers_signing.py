"""/api/v1/providers/<ns>/<type>/<version>/SHA256SUMS.sig: replace the publisher's signature (D11)."""

from collections.abc import Iterator

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.base import ApiView, Unreadable
from apps.lib.addresses import ProviderAddress
from apps.lib.bodies import chunks
from apps.providers.signatures import resigning
from apps.releases.catalogue.documents import release_document


class ProviderSignature(ApiView):
    http_method_names = ["put"]

    def put(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002
        """The signature as raw body: 200 with the release document and the key that clients get from now on."""
        self.require_token()
        if request.headers.get("Content-Type", "").lower().startswith("multipart/"):
            raise Unreadable(
                "The body is a multipart form, expected the signature itself.",
                hint="With curl use `--upload-file <file>`, not --form.",
            )

        def open_body() -> Iterator[bytes]:
            return chunks(request.META)

        address = ProviderAddress(namespace, type)
        accepted = resigning.accept_signature(viewer=self.viewer, address=address, version=version, open_body=open_body)
        row = accepted.version
        signed = {"signing": row.signing, "key": row.key.fingerprint, "changed": accepted.changed}
        return Response(release_document(row.release) | signed)


urlpatterns = [
    path(
        "providers/<segment:namespace>/<segment:type>/<segment:version>/SHA256SUMS.sig",
        ProviderSignature.as_view(),
        name="provider-signature",
    )
]
