"""/api/v1/modules/<ns>/<name>/<system>/<version>/<act>: what is done with a published version, by POST (D9)."""

from collections.abc import Callable
from typing import Any

from django.urls import path
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts import access
from apps.api.base import ApiView
from apps.api.bodies import read_json, validated
from apps.lib.addresses import ModuleAddress
from apps.modules import lifecycle
from apps.releases.documents import release_document
from apps.releases.models import Release


class ReasonInput(serializers.Serializer[Any]):
    """The verbs say how long it may be: the same sentence on every way in."""

    reason = serializers.CharField(allow_blank=True)


class DeprecateInput(ReasonInput):
    replacement = serializers.CharField(required=False, allow_blank=True)


class PurgeInput(ReasonInput):
    confirm = serializers.CharField(allow_blank=True)


class Act(ApiView):
    """`{"reason": "…"}` and what else the act needs; 200 with the release document as it is afterwards.

    409 where it stands so already, saying since when, by whom and why. Once this is answered no process lists a yanked
    version any more, and none serves one in quarantine.
    """

    http_method_names = ["post"]
    verb: Callable[..., Release]
    input: type[serializers.Serializer[Any]] = ReasonInput

    def post(self, request: Request, namespace: str, name: str, system: str, version: str) -> Response:
        self.require_token()
        access.namespace_for(self.viewer, namespace)  # no body is read for those who do not even see it
        wanted = validated(self.input, read_json(request))
        address = ModuleAddress(namespace, name, system)
        release = type(self).verb(viewer=self.viewer, address=address, version=version, **wanted)
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


class Purge(Act):
    """`confirm` is the full `namespace/name/system version`. The bytes are gone soon after, by a worker."""

    verb = staticmethod(lifecycle.purge)
    input = PurgeInput


_VERSION = "modules/<segment:namespace>/<segment:name>/<segment:system>/<segment:version>"

urlpatterns = [
    path(f"{_VERSION}/deprecate", Deprecate.as_view(), name="module-deprecate"),
    path(f"{_VERSION}/yank", Yank.as_view(), name="module-yank"),
    path(f"{_VERSION}/quarantine", Quarantine.as_view(), name="module-quarantine"),
    path(f"{_VERSION}/restore", Restore.as_view(), name="module-restore"),
    path(f"{_VERSION}/purge", Purge.as_view(), name="module-purge"),
]
