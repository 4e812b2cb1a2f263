"""/api/v1/releases, one's own; /api/v1/releases/<id> and /api/v1/namespaces/<ns>/releases, for publishers there."""

import uuid
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, UUIDField

from apps.accounts.access import gate
from apps.accounts.models import Role
from apps.api.frame import shapes
from apps.api.frame.base import DetailView, ListView, listed, operation, shown
from apps.api.frame.shapes import MomentField, Shape, With, of_release, page
from apps.lib.errors import Invalid, NotFound
from apps.modules import answers as questions
from apps.modules import publishing as modules
from apps.providers import publishing as providers
from apps.releases.catalogue import reading
from apps.releases.models import Kind, Release, State

_STATES: dict[str, Any] = {"query": {"state": "Return only these."}, "choices": {"state": list(reading.GROUPS)}}


class ReleaseRow(Shape):
    id = UUIDField(source="public_id")
    kind = ChoiceField(choices=Kind.values)
    namespace = CharField(source="namespace.name")
    name = CharField()
    version = CharField()
    state = ChoiceField(choices=State.values)
    created_at = MomentField()


class NamespaceReleaseRow(ReleaseRow):
    by = CharField(
        source="created_by.shown_name", allow_null=True, help_text="Who started it; null if the person was erased."
    )
    finished_at = MomentField(allow_null=True)


class AnswerInput(serializers.Serializer[Any]):
    # `checking.answers` validates them, with the same errors on every way in.

    confirm = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="The codes of the questions to answer with yes.",
    )
    folder = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="The folder of this release, or several, one per line. Only if the question asks for it.",
    )
    reason = serializers.CharField(
        required=False, allow_blank=True, max_length=500, help_text="Reason for a breaking change. Shown to readers."
    )


class ReleaseView(DetailView):
    def release(self, public_id: str) -> Release:
        try:
            wanted = uuid.UUID(public_id)
        except ValueError:
            raise NotFound("There is no such release.") from None
        return reading.release_for(self.viewer, wanted)


class ReleaseDetail(ReleaseView):
    get = shown("Show a release", shapes.Release, scope="publish")

    def row(self, public_id: str) -> With:
        return of_release(self.release(public_id))


class ReleaseAnswer(ReleaseView):
    @operation(
        "Answer the questions of a held release",
        takes=AnswerInput,
        answers={202: shapes.Release},
        again="409.",
        scope="publish",
    )
    def post(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        """Nothing is published before each question has its answer. Further modules of the upload need the page."""
        release = self.release(public_id)
        wanted = self.body()
        said = {key: wanted.get(key, "") for key in ("folder", "reason")}
        questions.answer(release=release, viewer=self.viewer, confirm=wanted.get("confirm", []), **said)
        release.refresh_from_db()
        return self.answer(of_release(release), HTTPStatus.ACCEPTED)


class ReleaseCancel(ReleaseView):
    @operation(
        "Cancel a release that needs its publisher's answer",
        answers={200: shapes.Release},
        again="409.",
        scope="publish",
    )
    def post(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        """A reservation, a draft or a held release; its number is free again."""
        release = self.release(public_id)
        cancel = providers.cancel if release.kind == Kind.PROVIDER else modules.cancel
        cancel(release=release, viewer=self.viewer)
        release.refresh_from_db()
        return self.answer(of_release(release))


class ReleaseListView(ListView):
    def group(self) -> str:
        """The state that the list is limited to, or ""."""
        group = self.text("state")
        if group and group not in reading.GROUPS:
            raise Invalid(f"There is no state {group!a}.", hint=f"Ask for {', '.join(reading.GROUPS)}.")
        return group


class ReleaseList(ReleaseListView):
    """The releases that the caller started and may still open: those that wait for them first, then the newest."""

    get = listed("List your releases", page("ReleasePage", releases=ReleaseRow(many=True)), **_STATES)

    def rows(self) -> QuerySet[Release]:
        return reading.releases_of(self.viewer, self.group())


class NamespaceReleases(ReleaseListView):
    """Held, refused and removed releases included; `by` started it."""

    get = listed(
        "List the releases of a namespace (publishers)",
        page("NamespaceReleasePage", releases=NamespaceReleaseRow(many=True)),
        **_STATES,
        scope="publish",
    )

    def rows(self, namespace: str) -> QuerySet[Release]:
        row = gate.namespace_for(self.viewer, namespace, need=Role.PUBLISHER)
        return reading.releases_in(row, self.group())


urlpatterns = [
    path("releases", ReleaseList.as_view(), name="releases"),
    path("releases/<segment:public_id>", ReleaseDetail.as_view(), name="release"),
    path("releases/<segment:public_id>/answer", ReleaseAnswer.as_view(), name="release-answer"),
    path("releases/<segment:public_id>/cancel", ReleaseCancel.as_view(), name="release-cancel"),
    path("namespaces/<segment:namespace>/releases", NamespaceReleases.as_view(), name="namespace-releases"),
]
