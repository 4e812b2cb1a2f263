"""/api/v1/providers/<ns>/<type>/<version>: a provider version, published file by file (D24).

POST opens a draft, PUT …/files/<filename> sends each file, POST …/publish submits it; GET shows it in any state, DELETE
cancels a draft. …/docs has its documentation.
"""

from functools import partial
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from apps.accounts.models import Role
from apps.api.frame.base import PROVIDER, SLOT_SECONDS, ApiView, DetailView, operation, shown
from apps.api.frame.bodies import refuse_form
from apps.api.frame.shapes import DigestField, DocsPage, MomentField, Reason, Release, Shape, With, of_release
from apps.http import tus
from apps.lib.addresses import ProviderAddress
from apps.lib.digests import verified
from apps.lib.errors import TooLarge
from apps.lib.net.bodies import chunks, declared_length, streamed
from apps.providers import publishing, reading
from apps.providers.docs import browsing, replacing
from apps.providers.drafting import drafts
from apps.providers.models import DocsState, Signing
from apps.providers.signatures import resigning
from apps.releases.docs.browsing import index_of
from apps.releases.models import Release as Row
from apps.releases.models import ReleaseFile, State


class DraftInput(serializers.Serializer[Any]):
    # `publishing` validates protocols, with the same error on every way in.

    protocols = serializers.ListField(child=serializers.CharField(trim_whitespace=False), required=False)


class File(Shape):
    # Of a ReleaseFile.
    name = CharField()
    role = CharField()
    digest = DigestField()
    size = IntegerField()

    def role_of(self, file: ReleaseFile) -> str:
        return drafts.role_of(file.release, file.name)


class Draft(Release):
    files = File(many=True)
    platforms = ListField(child=CharField())
    protocols = ListField(child=CharField())
    signing = ChoiceField(choices=Signing.values)
    signing_why = CharField()
    missing = Reason(many=True, help_text="What the draft still needs before it can be published.")
    receiving_until = MomentField(allow_null=True)


class SignedRelease(Release):
    signing = ChoiceField(choices=Signing.values)
    key = CharField(help_text="The fingerprint of the key that clients get from now on.")
    changed = BooleanField()


class DocsArchive(Shape):
    state = ChoiceField(choices=DocsState.values)
    digest = DigestField()
    size = IntegerField()
    received_at = MomentField(source="created_at", allow_null=True)
    reasons = Reason(source="refusals", many=True)


class Docs(Shape):
    pages = DocsPage(many=True)
    archives = DocsArchive(many=True, required=False, help_text="null unless the caller is a publisher.")


class DraftView(DetailView):
    def draft(self, version: str, **names: str) -> Row:
        return reading.draft_for(self.viewer, ProviderAddress(**names), version)

    def opened(self, release: Row, status: HTTPStatus) -> Response:
        location = reverse("api:release", args=[str(release.public_id)])
        return self.answer(of_release(release, **drafts.draft_facts(release)), status, headers={"Location": location})


class ProviderRelease(DraftView):
    get = shown("Show a version, or its newest draft", Draft, public=True)

    def row(self, version: str, **names: str) -> With:
        """The state of the newest upload of this version; readers see it once it is published."""
        release = reading.latest_release(self.viewer, ProviderAddress(**names), version)
        return of_release(release, **drafts.draft_facts(release))

    @operation(
        "Open a draft of a provider version",
        takes=DraftInput,
        answers={200: Draft, 201: Draft},
        again="200 with the open draft.",
        scope="publish",
        idempotent=True,
        limits=["publish"],
    )
    def post(self, request: Request, version: str, **names: str) -> Response:
        """201 with a new draft; 200 with the open draft, or with the published release."""
        self.count("publish")
        address = ProviderAddress(**names)
        publishing.authorise_coordinate(self.viewer, address, version)  # before the body is read
        length = declared_length(request.META)
        is_empty = length == 0 or (length is None and not request.META.get("wsgi.input_terminated"))
        wanted = {} if is_empty else self.body()
        release, is_new = publishing.open_draft(viewer=self.viewer, address=address, version=version, **wanted)
        return self.opened(release, HTTPStatus.CREATED if is_new else HTTPStatus.OK)

    @operation("Cancel a draft", answers={204: None}, again="404.", scope="publish")
    def delete(self, request: Request, version: str, **names: str) -> Response:  # noqa: ARG002
        """Cancel the draft; a submitted release continues."""
        release = self.draft(version, **names)
        publishing.cancel(viewer=self.viewer, release=release)
        return self.answer(status=HTTPStatus.NO_CONTENT)


@streamed("PUT")
class ProviderFile(DraftView):
    @operation(
        "Send a file of a draft",
        takes="application/octet-stream",
        answers={200: File, 201: File},
        headers={"Repr-Digest": "sha-256=:base64: of the complete file; verified."},
        again="Replaces the file.",
        scope="publish",
        limits=["publish"],
    )
    def put(self, request: Request, filename: str, version: str, **names: str) -> Response:
        """The file as raw body, in any framing: 201 with its digest; 200 if it replaces a file of that name."""
        self.count("publish")
        release = self.draft(version, **names)
        # By the header fields, before a byte is sent.
        drafts.check_length(release, filename, declared_length(request.META))
        refuse_form(
            request,
            expected="the file itself",
            hint="With curl use `--upload-file <file>` and an URL that ends in its name, not --form.",
        )
        digest = tus.announced_digest(request.headers)

        file, is_new = publishing.receive_file(
            viewer=self.viewer,
            release=release,
            name=filename,
            open_body=lambda: verified(chunks(request.META), digest),
        )
        return self.answer(file, HTTPStatus.CREATED if is_new else HTTPStatus.OK)

    @operation("Remove a file of a draft", answers={204: None}, again="404.", scope="publish")
    def delete(self, request: Request, filename: str, version: str, **names: str) -> Response:  # noqa: ARG002
        release = self.draft(version, **names)
        publishing.remove_file(viewer=self.viewer, release=release, name=filename)
        return self.answer(status=HTTPStatus.NO_CONTENT)


class ProviderPublish(DraftView):
    @operation(
        "Publish a draft",
        answers={200: Draft, 202: Draft},
        again="200 once it is published.",
        scope="publish",
        idempotent=True,
    )
    def post(self, request: Request, version: str, **names: str) -> Response:  # noqa: ARG002
        """202 with the release document; 200 if these packages are published already."""
        release = self.draft(version, **names)
        release = publishing.hand_in(viewer=self.viewer, release=release)
        return self.opened(release, HTTPStatus.OK if release.state == State.PUBLISHED else HTTPStatus.ACCEPTED)


class ProviderSignature(ApiView):
    slot_seconds = SLOT_SECONDS

    @operation(
        "Sign a published version again",
        takes="application/octet-stream",
        answers={200: SignedRelease},
        again="Changes nothing.",
        limits=["publish"],
    )
    def put(self, request: Request, version: str, **names: str) -> Response:
        """The signature as raw body: 200 with the release document and the key that clients get from now on."""
        self.count("publish")
        refuse_form(request, expected="the signature itself", hint="With curl use `--upload-file <file>`, not --form.")

        address = ProviderAddress(**names)
        row, changed = resigning.accept_signature(
            viewer=self.viewer, address=address, version=version, open_body=partial(chunks, request.META)
        )
        facts = {"signing": row.signing, "key": row.key.fingerprint, "changed": changed}
        return self.answer(of_release(row.release, **facts))


@streamed("PUT")
class ProviderDocs(DetailView):
    """The docs of a published version, which may be replaced: the pages, and to publishers the state of uploads."""

    get = shown("Show the documentation pages of a version", Docs, public=True)

    def row(self, version: str, **names: str) -> dict[str, Any]:
        provider, role = reading.provider_and_role(self.viewer, ProviderAddress(**names))
        row = reading.version_of(self.viewer, provider, version)
        archives = {} if role == Role.READER else {"archives": browsing.archives_of(row)}
        return {"pages": index_of(row.docs_pages.all()), **archives}

    @operation(
        "Replace the documentation of a version",
        takes="application/octet-stream",
        answers={200: DocsArchive, 202: DocsArchive},
        again="200.",
        scope="publish",
        limits=["publish"],
    )
    def put(self, request: Request, version: str, **names: str) -> Response:
        """202 with the received archive; 200 if the same bytes are shown already or wait for a worker."""
        self.count("publish")
        row = replacing.version_of(self.viewer, ProviderAddress(**names), version)
        # By the header fields, before a byte is sent.
        length, limit = declared_length(request.META), settings.PROVIDER_DOCS_MAX_BYTES
        if length is not None and length > limit:
            raise TooLarge(f"The archive has {length:,} bytes; {drafts.DOCS_SETTING} allows {limit:,}.")
        refuse_form(request, expected="the zip itself", hint="With curl use `--upload-file <file>`, not --form.")

        archive, is_new = replacing.receive(viewer=self.viewer, version=row, open_body=partial(chunks, request.META))
        return self.answer(archive, HTTPStatus.ACCEPTED if is_new else HTTPStatus.OK)


_VERSION = f"{PROVIDER}/<segment:version>"

urlpatterns = [
    path(_VERSION, ProviderRelease.as_view(), name="provider-release"),
    path(f"{_VERSION}/files/<segment:filename>", ProviderFile.as_view(), name="provider-file"),
    path(f"{_VERSION}/publish", ProviderPublish.as_view(), name="provider-publish"),
    path(f"{_VERSION}/SHA256SUMS.sig", ProviderSignature.as_view(), name="provider-signature"),
    path(f"{_VERSION}/docs", ProviderDocs.as_view(), name="provider-docs"),
]
