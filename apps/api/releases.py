"""/api/v1/releases/<id>: the state of a release, for publishers in its namespace."""

import uuid

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.frame import answers
from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation
from apps.lib.errors import NotFound
from apps.releases.catalogue import reading
from apps.releases.catalogue.documents import release_document


class ReleaseDetail(ApiView):
    @operation("Show a release", answers={200: answers.Release})
    def get(self, request: Request, public_id: str) -> Response:  # noqa: ARG002
        self.require_token()
        try:
            wanted = uuid.UUID(public_id)
        except ValueError:
            raise NotFound("There is no such release.") from None
        return Response(release_document(reading.release_for(self.viewer, wanted)))


urlpatterns = [path("releases/<segment:public_id>", ReleaseDetail.as_view(), name="release")]
