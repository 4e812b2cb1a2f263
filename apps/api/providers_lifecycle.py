"""/api/v1/providers/<ns>/<type>/<version>/<act>: what is done with a published version, by POST (D9)."""

from collections.abc import Callable
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import access
from apps.api.base import ApiView
from apps.api.bodies import read_json, validated
from apps.api.modules_lifecycle import DeprecateInput, ReasonInput
from apps.lib.addresses import ProviderAddress
from apps.providers import lifecycle
from apps.releases.documents import release_document
from apps.releases.models import Release


class Act(ApiView):
    """`{"reason": "…"}` and what else the act needs; 200 with the release document as it is afterwards.

    409 where it stands so already, saying since when, by whom and why.
    """

    http_method_names = ["post"]
    verb: Callable[..., Release]
    input: type[serializers.Serializer[Any]] = ReasonInput

    def post(self, request: Request, namespace: str, type: str, version: str) -> Response:  # noqa: A002
        self.require_token()
        access.namespace_for(self.viewer, namespace)  # no body is read for those who do not even see it
        wanted = validated(self.input, read_json(request))
        address = ProviderAddress(namespace, type)
        release = self.__class__.verb(viewer=self.viewer, address=address, version=version, **wanted)
        return Response(release_document(release))


class Deprecate(Act):
    verb = staticmethod(lifecycle.deprecate)
    input = DeprecateInput


class Yank(Act):
    verb = staticmethod(lifecycle.yank)


class Quarantine(Act):
    verb = staticmethod(lifecycle.quarantine)


class Restore(Act):
    verb = staticmethod(lifecycle.restore)


_VERSION = "providers/<segment:namespace>/<segment:type>/<segment:version>"

urlpatterns = [
    path(f"{_VERSION}/deprecate", Deprecate.as_view(), name="provider-deprecate"),
    path(f"{_VERSION}/yank", Yank.as_view(), name="provider-yank"),
    path(f"{_VERSION}/quarantine", Quarantine.as_view(), name="provider-quarantine"),
    path(f"{_VERSION}/restore", Restore.as_view(), name="provider-restore"),
]
