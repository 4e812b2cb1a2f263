"""GET /api/v1/schema: the OpenAPI document of this API. `make schema` writes it; it changes only with Larder."""

from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from rest_framework.request import Request

from apps.api.frame.base import ApiView
from apps.api.frame.operations import operation


class Schema(ApiView):
    http_method_names = ["get", "head"]
    authentication_classes = []

    @operation("This document", answers={200: None}, scope=None, public=True)
    def get(self, request: Request) -> HttpResponse:  # noqa: ARG002
        return HttpResponse(settings.OPENAPI_FILE.read_bytes(), content_type="application/json")


urlpatterns = [path("schema", Schema.as_view(), name="schema")]
