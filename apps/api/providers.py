"""/api/v1/providers/<ns>/<type>/<version>: a provider version, published file by file (D24).

POST opens a draft, PUT …/files/<filename> sends each file, POST …/publish submits it; GET shows it in any state, DELETE
cancels a draft.
"""

from functools import partial
from http import HTTPStatus
from typing import Any

from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, refuse_form, validated
from apps.api.frame.operations import operation
from apps.http import tus
from apps.lib.addresses import ProviderAddress
from apps.lib.digests import verified
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.providers import publishing, reading
from apps.providers.drafting import drafts
from apps.providers.drafting.drafts import draft_document, file_document
from apps.providers.signatures import resigning
from apps.releases.catalogue.documents import release_document
from apps.releases.models import Release, State


class DraftInput(serializers.Serializer[Any]):
    """`publishing` validates protocols, with the same error on every way in."""

    protocols = serializers.ListField(child=serializers.CharField(trim_whitespace=False), required=False)


class ProviderRelease(ApiView):
    http_method_names = ["get", "head", "post", "delete"]

    @operation("Show a version, or its newest draft", answers={200: shapes.Draft}, public=True)
    def get(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002, ARG002
        """The state of the newest upload of this version; readers see it once it is published."""
        viewer = self.viewer
        release = reading.latest_release(viewer, ProviderAddress(namespace, type), version)
        return Response(draft_document(release, with_names=viewer.is_identified))

    @operation(
        "Open a draft of a provider version",
        takes=DraftInput,
        answers={200: shapes.Draft, 201: shapes.Draft},
        again="200 with the open draft.",
        scope="publish",
        idempotent=True,
    )
    def post(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002
        """201 with a new draft; 200 with the open draft, or with the published release."""
        self.require_token()
        self.count_upload()
        address = ProviderAddress(namespace, type)
        publishing.authorise_coordinate(self.viewer, address, version)  # before the body is read
        opened = publishing.open_draft(viewer=self.viewer, address=address, version=version, **_wanted(request))
        status = HTTPStatus.CREATED if opened.created else HTTPStatus.OK
        return _released(opened.release, status)

    @operation("Cancel a draft", answers={204: None}, again="404.", scope="publish", idempotent=True)
    def delete(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002, ARG002
        """Cancel the draft; a submitted release continues."""
        self.require_token()
        release = reading.draft_for(self.viewer, ProviderAddress(namespace, type), version)
        publishing.cancel(viewer=self.viewer, release=release)
        return Response(status=HTTPStatus.NO_CONTENT)


@streamed("PUT")
class ProviderFile(ApiView):
    http_method_names = ["put", "delete"]

    @operation(
        "Send a file of a draft",
        takes="application/octet-stream",
        answers={200: shapes.File, 201: shapes.File},
        headers={"Repr-Digest": "sha-256=:base64: of the whole, which is checked."},
        again="Replaces the file.",
        scope="publish",
        idempotent=True,
    )
    def put(self, request: Request, namespace: str, type: str, version: str, filename: str) -> Response:  # noqa: A002
        """The file as raw body, in any framing: 201 with its digest; 200 if it replaces a file of that name."""
        self.require_token()
        self.count_upload()
        release = reading.draft_for(self.viewer, ProviderAddress(namespace, type), version)
        _check_head(request, release, filename)
        digest = tus.announced_digest(request.headers)

        received = publishing.receive_file(
            viewer=self.viewer,
            release=release,
            name=filename,
            open_body=lambda: verified(chunks(request.META), digest),
        )
        return Response(file_document(received.file), status=HTTPStatus.CREATED if received.created else HTTPStatus.OK)

    @operation("Remove a file of a draft", answers={204: None}, again="404.", scope="publish", idempotent=True)
    def delete(self, request: Request, namespace: str, type: str, version: str, filename: str) -> Response:  # noqa: A002, ARG002
        self.require_token()
        release = reading.draft_for(self.viewer, ProviderAddress(namespace, type), version)
        publishing.remove_file(viewer=self.viewer, release=release, name=filename)
        return Response(status=HTTPStatus.NO_CONTENT)


class ProviderPublish(ApiView):
    http_method_names = ["post"]

    @operation(
        "Publish a draft",
        answers={200: shapes.Draft, 202: shapes.Draft},
        again="200 once it is published.",
        scope="publish",
        idempotent=True,
    )
    def post(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002, ARG002
        """202 with the release document; 200 if these packages are published already."""
        self.require_token()
        release = reading.draft_for(self.viewer, ProviderAddress(namespace, type), version)
        release = publishing.hand_in(viewer=self.viewer, release=release)
        return _released(release, HTTPStatus.OK if release.state == State.PUBLISHED else HTTPStatus.ACCEPTED)


class ProviderSignature(ApiView):
    http_method_names = ["put"]

    @operation(
        "Sign a published version again",
        takes="application/octet-stream",
        answers={200: shapes.SignedRelease},
        again="Changes nothing.",
        scope="manage",
        idempotent=True,
    )
    def put(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002
        """The signature as raw body: 200 with the release document and the key that clients get from now on."""
        self.require_token()
        self.count_upload()
        refuse_form(request, expected="the signature itself", hint="With curl use `--upload-file <file>`, not --form.")

        address = ProviderAddress(namespace, type)
        accepted = resigning.accept_signature(
            viewer=self.viewer, address=address, version=version, open_body=partial(chunks, request.META)
        )
        row = accepted.version
        signed = {"signing": row.signing, "key": row.key.fingerprint, "changed": accepted.changed}
        return Response(release_document(row.release) | signed)


def _wanted(request: Request) -> dict[str, Any]:
    """The optional JSON of a draft; {} without a body."""
    length = declared_length(request.META)
    if length == 0 or (length is None and not request.META.get("wsgi.input_terminated")):
        return {}
    return validated(DraftInput, read_json(request))


def _released(release: Release, status: HTTPStatus) -> Response:
    location = reverse("api:release", args=[str(release.public_id)])
    return Response(draft_document(release), status=status, headers={"Location": location})


def _check_head(request: Request, release: Release, name: str) -> None:
    """Refuse by the header fields, before a byte is sent."""
    drafts.check_length(release, name, declared_length(request.META))
    refuse_form(
        request,
        expected="the file itself",
        hint="With curl use `--upload-file <file>` and an URL that ends in its name, not --form.",
    )


_VERSION = "providers/<segment:namespace>/<segment:type>/<segment:version>"

urlpatterns = [
    path(_VERSION, ProviderRelease.as_view(), name="provider-release"),
    path(f"{_VERSION}/files/<segment:filename>", ProviderFile.as_view(), name="provider-file"),
    path(f"{_VERSION}/publish", ProviderPublish.as_view(), name="provider-publish"),
    path(f"{_VERSION}/SHA256SUMS.sig", ProviderSignature.as_view(), name="provider-signature"),
]
