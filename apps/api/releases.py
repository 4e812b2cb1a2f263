"""/api/v1/releases, one's own; /api/v1/releases/<id> and /api/v1/namespaces/<ns>/releases, for publishers there."""

import uuid
from http import HTTPStatus
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import ApiView
from apps.api.frame.bodies import read_json, validated
from apps.api.frame.operations import operation
from apps.api.frame.paging import CURSOR, page_of, text_of
from apps.lib.errors import Invalid, NotFound
from apps.modules import answers as questions
from apps.modules import publishing as modules
from apps.providers import publishing as providers
from apps.releases.catalogue import reading
from apps.releases.catalogue.documents import moment, release_document
from apps.releases.models import Kind, Release

STATE = {"state": "Only these."}
STATES = {"state": list(reading.GROUPS)}


class ReleaseDetail(ApiView):
    @operation("Show a release", answers={200: shapes.Release}, scope="publish")
    def get(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        self.require_token()
        return Response(release_document(_release(self.viewer, public_id)))


class AnswerInput(serializers.Serializer[Any]):
    """`checking.answers` validates them, with the same errors on every way in."""

    confirm = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The codes of the questions to answer with yes.",
    )
    folder = serializers.CharField(
        required=False, allow_blank=True, help_text="The folder of this release, where the question asks for one."
    )
    reason = serializers.CharField(
        required=False, allow_blank=True, max_length=500, help_text="Of a breaking change; shown to readers."
    )


class ReleaseAnswer(ApiView):
    http_method_names = ["post"]

    @operation(
        "Answer the questions of a held release",
        takes=AnswerInput,
        answers={202: shapes.Release},
        again="409.",
        scope="publish",
    )
    def post(self, request: Request, public_id: str) -> Response:
        """Nothing is published before each question has its answer. Further modules of the upload need the page."""
        self.require_token()
        release = _release(self.viewer, public_id)
        wanted = validated(AnswerInput, read_json(request))
        said = {key: wanted.get(key, "") for key in ("folder", "reason")}
        questions.answer(release=release, viewer=self.viewer, confirm=wanted.get("confirm", []), **said)
        release.refresh_from_db()
        return Response(release_document(release), status=HTTPStatus.ACCEPTED)


class ReleaseCancel(ApiView):
    http_method_names = ["post"]

    @operation(
        "Cancel a release that waits for its publisher", answers={200: shapes.Release}, again="409.", scope="publish"
    )
    def post(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        """A reservation, a draft or a held release; its number is free again."""
        self.require_token()
        release = _release(self.viewer, public_id)
        cancel = providers.cancel if release.kind == Kind.PROVIDER else modules.cancel
        cancel(release=release, viewer=self.viewer)
        release.refresh_from_db()
        return Response(release_document(release))


def _release(viewer: Viewer, public_id: str) -> Release:
    try:
        wanted = uuid.UUID(public_id)
    except ValueError:
        raise NotFound("There is no such release.") from None
    return reading.release_for(viewer, wanted)


class ReleaseList(ApiView):
    """The releases that the caller started and may still open: those that wait for them first, then the newest."""

    http_method_names = ["get", "head"]

    @operation(
        "List one's own releases",
        answers={200: shapes.ReleasePage},
        query=STATE | CURSOR,
        choices=STATES,
    )
    def get(self, request: Request) -> Response:
        self.require_token()
        rows = reading.releases_of(self.viewer, group_of(request))
        return Response(page_of(request, "releases", rows, release_row))


def group_of(request: Request) -> str:
    """The state that the list is limited to, or ""."""
    group = text_of(request, "state")
    if group and group not in reading.GROUPS:
        raise Invalid(f"There is no state {group!a}.", hint=f"Ask for {', '.join(reading.GROUPS)}.")
    return group


def release_row(release: Release) -> dict[str, Any]:
    return {
        "id": str(release.public_id),
        "kind": release.kind,
        "namespace": release.namespace.name,
        "name": release.name,
        "version": release.version,
        "state": release.state,
        "created_at": moment(release.created_at),
    }


class NamespaceReleases(ApiView):
    """Held, refused and removed releases included; `by` started it."""

    http_method_names = ["get", "head"]

    @operation(
        "List the releases of a namespace (publishers)",
        answers={200: shapes.NamespaceReleasePage},
        query=STATE | CURSOR,
        choices=STATES,
        scope="publish",
    )
    def get(self, request: Request, namespace: str) -> Response:
        self.require_token()
        row = gate.namespace_for(self.viewer, namespace, need=Role.PUBLISHER)
        rows = reading.releases_in(row, group_of(request))
        return Response(page_of(request, "releases", rows, _namespace_release))


def _namespace_release(release: Release) -> dict[str, Any]:
    by = release.created_by.shown_name if release.created_by else None
    return release_row(release) | {"by": by, "finished_at": moment(release.finished_at)}


urlpatterns = [
    path("releases", ReleaseList.as_view(), name="releases"),
    path("releases/<segment:public_id>", ReleaseDetail.as_view(), name="release"),
    path("releases/<segment:public_id>/answer", ReleaseAnswer.as_view(), name="release-answer"),
    path("releases/<segment:public_id>/cancel", ReleaseCancel.as_view(), name="release-cancel"),
    path("namespaces/<segment:namespace>/releases", NamespaceReleases.as_view(), name="namespace-releases"),
]
