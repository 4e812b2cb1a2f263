"""/api/v1/providers/<ns>/<type>/<version>/docs: the docs of a published version, which may be replaced.

PUT sends the zip as raw body for a worker to read; GET shows the pages, and to publishers the state of their uploads.
"""

from functools import partial
from http import HTTPStatus

from django.conf import settings
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import refuse_form
from apps.api.frame.operations import operation
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import TooLarge
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.providers import reading
from apps.providers.docs import browsing, replacing
from apps.providers.drafting import drafts


@streamed("PUT")
class ProviderDocs(ApiView):
    http_method_names = ["get", "head", "put"]

    @operation("Show the documentation pages of a version", answers={200: shapes.Docs}, public=True)
    def get(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002, ARG002
        provider, role = reading.provider_and_role(self.viewer, ProviderAddress(namespace, type))
        shown = reading.version_of(self.viewer, provider, version)
        return Response(browsing.docs_document(shown, with_archives=role != Role.READER))

    @operation(
        "Replace the documentation of a version",
        takes="application/octet-stream",
        answers={200: shapes.DocsArchive, 202: shapes.DocsArchive},
        again="200.",
        scope="publish",
        idempotent=True,
    )
    def put(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002
        """202 with the received archive; 200 if the same bytes are shown already or wait for a worker."""
        self.require_token()
        self.count_upload()
        shown = replacing.version_of(self.viewer, ProviderAddress(namespace, type), version)
        _check_head(request)

        received = replacing.receive(viewer=self.viewer, version=shown, open_body=partial(chunks, request.META))
        status = HTTPStatus.ACCEPTED if received.created else HTTPStatus.OK
        return Response(browsing.archive_document(received.archive), status=status)


def _check_head(request: Request) -> None:
    """Refuse by the header fields, before a byte is sent."""
    length, limit = declared_length(request.META), settings.PROVIDER_DOCS_MAX_BYTES
    if length is not None and length > limit:
        raise TooLarge(f"The archive has {length:,} bytes; {drafts.DOCS_SETTING} allows {limit:,}.")
    refuse_form(request, expected="the zip itself", hint="With curl use `--upload-file <file>`, not --form.")


urlpatterns = [
    path(
        "providers/<segment:namespace>/<segment:type>/<segment:version>/docs",
        ProviderDocs.as_view(),
        name="provider-docs",
    )
]
